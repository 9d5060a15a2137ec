"""Reports: the entries of a benchmark as a file and as a table. Nothing is measured here."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .machine import describe_machine, versions
from .measure import Entry, Facts
from .memory import AT_HAND

_AT_HAND = f" Before every turn here, {AT_HAND / 2**30:g} GiB are written and freed."

if TYPE_CHECKING:
    from rich.table import Table


@dataclass
class Report:
    """All that a benchmark found, and where."""

    name: str
    question: str
    quick: bool
    repeats: int
    processor: bool = False
    machine: dict[str, str | int] = field(default_factory=describe_machine)
    versions: dict[str, str] = field(default_factory=versions)
    entries: list[Entry] = field(default_factory=list)
    conclusions: Facts = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether a contestant failed."""
        return any(entry.failed for entry in self.entries)

    @property
    def stem(self) -> str:
        """What its files are called, without the ending."""
        return f"{self.name}{'-quick' if self.quick else ''}"

    def write(self, folder: Path) -> Path:
        """Write NAME.json and NAME.md (NAME-quick where quick) into the folder, each whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{self.stem}.json"
        _write(target, json.dumps(self.record(), indent=1, ensure_ascii=False) + "\n")
        _write(target.with_suffix(".md"), markdown(self))
        return target

    def record(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "benchmark": self.name,
            "question": self.question,
            "quick": self.quick,
            "repeats": self.repeats,
            "seconds": "of processors" if self.processor else "on the wall",
            "machine": self.machine,
            "versions": self.versions,
            "entries": [_row(entry, self.quick) for entry in self.entries],
            "conclusions": dict(self.conclusions),
        }


def _write(target: Path, text: str) -> None:
    draft = target.with_suffix(".part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(target)


def _row(entry: Entry, quick: bool) -> dict[str, Any]:
    ratio = None
    if entry.ratios:
        ratio = {"median": entry.ratio, "lowest": min(entry.ratios), "highest": max(entry.ratios)}
    return {
        "task": entry.task,
        "contestant": entry.contestant,
        "seconds": list(entry.seconds),
        "median_seconds": entry.median,
        "warm_up_seconds": entry.warm_up,
        "ratio": ratio,
        "target_ratio": entry.target,
        "target_met": None if quick else entry.met,
        "facts": dict(entry.facts),
        "note": entry.note,
        **({"series": dict(entry.series)} if entry.series else {}),
    }


def columns(report: Report) -> list[str]:
    """Return the names of the columns of the table."""
    facts = dict.fromkeys(name for entry in report.entries for name in entry.facts)
    return ["contestant", "runs", "seconds", "× ours", "wanted", *facts]


def cells(report: Report, entry: Entry) -> list[str]:
    """Return the row of one entry, as text."""
    facts = (_number(entry.facts.get(name)) for name in columns(report)[5:])
    times = str(len(entry.seconds)), _number(entry.median), _range(entry), _wanted(entry, report.quick)
    return [entry.contestant, *times, *facts]


def by_task(report: Report) -> dict[str, list[Entry]]:
    """Return the entries that took a turn, by task."""
    tasks = dict.fromkeys(entry.task for entry in report.entries)
    return {task: [e for e in report.entries if e.task == task and e.seconds] for task in tasks}


def table(report: Report) -> Table:
    """Return the entries as one table: times, ratios to ours, and what is known of the models."""
    from rich.table import Table

    made = Table(title=f"{report.name}: {report.question}", title_justify="left")
    for number, name in enumerate(columns(report)):
        made.add_column(name, justify="right" if number else "left", overflow="fold")
    for task, entries in by_task(report).items():
        made.add_section()
        made.add_row(f"[bold]{task}[/bold]")
        for entry in entries:
            name, *rest = cells(report, entry)
            made.add_row(f"  {name}", *rest)
    return made


def markdown(report: Report) -> str:
    """Return the table and what stands below it as Markdown, for the documentation."""
    names = columns(report)
    lines = [f"| {' | '.join(names)} |", f"|---|{'---:|' * (len(names) - 1)}"]
    for task, entries in by_task(report).items():
        lines.append(f"| **{task}** |{' |' * (len(names) - 1)}")
        lines += [f"| {' | '.join(cells(report, entry))} |" for entry in entries]
    return "\n".join([*lines, "", *(f"- {line}" for line in remarks(report))]) + "\n"


def remarks(report: Report) -> list[str]:
    """Return the lines below the table: conclusions, who was left out, machine and versions."""
    lines = [f"{name}: {_number(value)}" for name, value in report.conclusions.items()]
    lines += [f"{e.contestant} ({e.task}) {e.note}" for e in report.entries if e.note]
    warm = max((e.warm_up for e in report.entries if e.warm_up), default=0.0)
    counted = "medians, of processors over all cores and processes" if report.processor else "medians"
    lines.append(
        f"Seconds are {counted}; × ours: median (lowest to highest) of the time over ours in the same round. "
        f"Warming up on small data (imports, compilation) is not in them; it took up to {_number(warm)} s."
        + ("" if report.quick or report.processor else _AT_HAND)
    )
    machine = report.machine
    at = f", commit {machine['commit']}" if machine.get("commit") else ""
    lines.append(
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, {machine['date']}{at}"
    )
    lines.append(
        ", ".join([f"python {machine['python']}", *(f"{k} {v}" for k, v in report.versions.items())])
    )
    return lines


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _range(entry: Entry) -> str:
    if entry.ratio is None:
        return ""
    if len(entry.ratios) == 1:
        return _number(entry.ratio)
    return f"{_number(entry.ratio)} ({_number(min(entry.ratios))} to {_number(max(entry.ratios))})"


def _wanted(entry: Entry, quick: bool) -> str:
    if entry.target is None:
        return ""
    verdict = {True: " met", False: " not met", None: ""}[None if quick else entry.met]
    return f"≥ {_number(entry.target)}{verdict}"
