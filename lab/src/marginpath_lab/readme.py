"""The table of the README, from the files that the benchmarks write.

``python -m marginpath_lab.readme`` in a checkout writes it between its two marks; no number is typed by hand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .bench.accuracy import BOOSTED

BEGIN, END = "<!-- begin measured: python -m marginpath_lab.readme -->", "<!-- end measured -->"

_TUNED = ("SVC", "intelex", "liquidSVM", "TorchKM")
_HEAD = "| question | marginpath | the others | command, when |\n|---|---|---|---|"


def rows(results: Path) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table: question, ours, theirs, command."""
    accuracy, path, tuned, one_fit, linear, predict = (
        _record(results, name) for name in ("accuracy", "path", "tuned", "one-fit", "linear", "predict")
    )
    return [
        (
            f"As accurate as a tuned SVC? {_said(accuracy, 'sets')} data sets, clean and noisy",
            _minus(f"{_said(accuracy, 'mean of ours − theirs in points'):+.2f} points on average"),
            _minus(
                f"SVC, 13 C: {_said(accuracy, 'median of the time'):.1f} × the time (median); "
                f"the set with the largest loss: {_said(accuracy, 'worst set')} points"
                f"{''.join(_boosting(accuracy, name) for name in BOOSTED)}"
            ),
            _command(accuracy),
        ),
        (
            "Is every step the SVM at its C?",
            f"{_said(path, 'primal objective: %'):.4g} % of the steps: objective within 0.1 % of SVC's",
            f"SVC at `tol=1e-5`, {_said(path, 'sets')} data sets, "
            f"{_said(path, 'steps compared')} steps compared",
            _command(path),
        ),
        *(_times(tuned, task, "marginpath", _TUNED, "Tuned in five folds") for task in _tasks(tuned)),
        _times(
            one_fit,
            _tasks(one_fit)[0],
            "MarginPathClassifier",
            ("SVC", "intelex"),
            "The same, against *one* fit at the best C",
        ),
        _times(
            linear,
            _tasks(linear)[0],
            "marginpath",
            ("LinearSVC", "rehline", "SGD"),
            "Sparse text, tuned in five folds",
        ),
        _times(predict, _tasks(predict)[0], "marginpath", ("SVC", "intelex", "onnx"), "Predicting"),
        (
            "A tenth of the vectors, by `compress`",
            f"at most 0.2 points lost on held-out rows: {_said(predict, 'sets where 10 times')}",
            f"as accurate as Nystroem with as many landmarks, or more: "
            f"{_said(predict, 'sets where they are as accurate as Nystroem')}",
            _command(predict),
        ),
        *_of_many_rows(results),
    ]


def _record(results: Path, name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((results / f"{name}.json").read_text("utf-8"))
    return record


def _of_many_rows(results: Path) -> list[tuple[str, str, str, str]]:
    """Return the rows of dense features and of landmarks, where these were measured."""
    found = []
    if (results / "dense.json").exists():
        dense, rivals = _record(results, "dense"), ("LinearSVC", "rehline", "SGD")
        what = "Dense features, tuned in five folds"
        found.append(_times(dense, _tasks(dense)[0], "marginpath", rivals, what))
    if (results / "landmarks.json").exists():
        found.append(_most_rows(_record(results, "landmarks")))
    return found


def table(results: Path) -> str:
    """Return the table as Markdown."""
    return "\n".join([_HEAD, *(f"| {' | '.join(row)} |" for row in rows(results))])


def filled(text: str, results: Path) -> str:
    """Return the page with the table between the marks.

    Examples
    --------
    >>> filled("No marks here.", Path("benchmarks/results"))
    Traceback (most recent call last):
        ...
    ValueError: The page needs the two marks of the table, each once: <!-- begin measured: ...
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"The page needs the two marks of the table, each once: {BEGIN} and {END}.")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return f"{before}{BEGIN}\n{table(results)}\n{END}{after}"


def _boosting(record: dict[str, Any], name: str) -> str:
    """Return how a library of gradient boosting compares, where the benchmark has it.

    Examples
    --------
    >>> lines = {"GB: mean of points": 0.5, "GB: better by": "nowhere", "GB: median of its time": 3.0}
    >>> _boosting({"conclusions": lines}, "GB")
    '; GB: 3 × the time, ours +0.50 points on average, behind by a point or more: nowhere'
    """
    if not any(line.startswith(f"{name}: ") for line in record["conclusions"]):
        return ""
    mean, better, time = (_said(record, f"{name}: {what}") for what in ("mean", "better", "median"))
    ours = f"ours {mean:+.2f} points on average, behind by a point or more: {better}"
    return f"; {name}: {_times_ours(time)} the time, {ours}"


def _times(
    record: dict[str, Any], task: str, ours: str, rivals: Sequence[str], what: str
) -> tuple[str, str, str, str]:
    """Return the row of a task: seconds and test errors, theirs with the ratio of times either way."""
    entries = {entry["contestant"]: entry for entry in record["entries"] if entry["task"] == task}
    base = _ratio(entries[ours])
    theirs = [
        f"{name}: {_seconds(entry)} ({_times_ours(_ratio(entry) / base)}), {_error(entry)}"
        for name, entry in entries.items()
        if name.startswith(tuple(rivals)) and entry["median_seconds"]  # not of one that was left out
    ]
    own = f"{_seconds(entries[ours])}, {_error(entries[ours])}"
    return f"{what}: {task}", own, "; ".join(theirs), _command(record)


def _most_rows(record: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return the row of the most rows: time and memory, beside the least error that anyone can expect."""
    entry = next(e for e in record["entries"] if e["task"] == _tasks(record)[-1])
    facts = entry["facts"]
    own = f"{_seconds(entry)}, {facts['above data MB'] / 1000:.1f} GB above the data, {_error(entry)}"
    least = f"least error possible {100 * facts['Bayes error']:.2g} %"
    question = f"{facts['n']:,} rows by {facts['landmarks']} landmarks, tuned in five folds"
    return question, own, least, _command(record)


def _ratio(entry: dict[str, Any]) -> float:
    return float(entry["ratio"]["median"]) if entry["ratio"] else 1.0


def _times_ours(ratio: float) -> str:
    return f"{ratio:.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×"


def _seconds(entry: dict[str, Any]) -> str:
    """Return the seconds with two digits: benchmarks on a shared machine know no more."""
    seconds = entry["median_seconds"]
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def _error(entry: dict[str, Any]) -> str:
    error = entry["facts"].get("test error")
    return "unfinished" if error is None else f"error {100 * error:.3g} %"


def _tasks(record: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(entry["task"] for entry in record["entries"]))


def _said(record: dict[str, Any], beginning: str) -> Any:
    """Return the conclusion whose name begins so."""
    return next(value for name, value in record["conclusions"].items() if name.startswith(beginning))


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _command(record: dict[str, Any]) -> str:
    """Return the command of a row, the day it was run, and the commit where the record has it."""
    machine = record["machine"]
    at = f" at {machine['commit']}" if machine.get("commit") else ""
    return f"`marginpath bench {record['benchmark']}`, {machine['date'][:10]}{at}"


if __name__ == "__main__":
    page = Path("README.md")
    page.write_text(filled(page.read_text("utf-8"), Path("benchmarks/results")), encoding="utf-8")
