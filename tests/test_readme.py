"""Every example that the prose shows is run."""

import doctest
import json
import re
from pathlib import Path

import pytest
from marginpath_lab.readme import END, filled, table

import marginpath as mp
from marginpath.datasets.downloads import own_file

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted(ROOT.glob("[CS]*.md")), *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted((ROOT / "packaging").glob("*.md"))
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """Return (line, code) of the fenced blocks in that language."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in found]


def execute(page: Path) -> dict:
    """Run the python blocks of a page one after another, in one namespace."""
    names: dict = {"__name__": page.stem}
    for line, code in blocks(page, "python"):
        exec(compile("\n" * line + code, page.name, "exec"), names)  # tracebacks show the page's lines
    return names


@pytest.mark.parametrize("page", [p for p in PAGES[1:] if blocks(p, "python")], ids=lambda p: p.name)
def test_python_blocks_run(page):
    execute(page)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "pycon")], ids=lambda p: p.name)
def test_sessions_print_what_they_show(page):
    session = "\n".join(code for _, code in blocks(page, "pycon"))
    if "sklearn.callback" in session:
        pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.heavy
def test_the_page_of_tables_shows_what_its_real_table_gives(monkeypatch):
    if (file := own_file("more/credit_data.csv")) is None:
        pytest.skip("set MARGINPATH_DATA to a folder that has more/credit_data.csv")
    monkeypatch.chdir(Path(file).parent)
    session = "\n".join(code for _, code in blocks(ROOT / "docs" / "tables.md", "python-console"))
    assert session.count(">>>") > 15
    test = doctest.DocTestParser().get_doctest(session, {}, "tables.md", None, 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert not report, "".join(report)


def test_the_readme_example_does_what_it_says():
    names = execute(README)
    clf, X_new, y_new = names["clf"], names["X_new"], names["y_new"]
    assert clf.at(clf.n_iter_).score(X_new, y_new) < clf.score(X_new, y_new)


def test_the_table_of_the_readme_is_what_the_benchmarks_wrote():
    text = README.read_text(encoding="utf-8")
    assert text == filled(text, ROOT / "benchmarks" / "results"), "run: python -m marginpath_lab.readme"


def test_a_table_without_its_marks_is_refused():
    with pytest.raises(ValueError, match="needs the two marks of the table"):
        filled(README.read_text(encoding="utf-8").replace(END, ""), ROOT / "benchmarks" / "results")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing, f"{page.name} links to {missing}"


def test_the_interface_page_lists_every_public_name():
    listed = set(re.findall(r"^   (\w+)$", (ROOT / "docs" / "api.rst").read_text(), re.MULTILINE))
    assert listed == set(mp.__all__)


def test_many_rows_have_their_lines_where_they_were_measured(tmp_path):
    results = ROOT / "benchmarks" / "results"
    for name in ("accuracy", "path", "tuned", "one-fit", "linear", "predict"):
        (tmp_path / f"{name}.json").write_text(
            (results / f"{name}.json").read_text("utf-8"), encoding="utf-8"
        )
    before = table(tmp_path).count("\n")

    def entry(contestant, seconds, ratio, **facts):
        ratio = {"median": ratio} if ratio else None
        facts = {name.replace("_", " "): value for name, value in facts.items()}
        return {
            "task": "a task",
            "contestant": contestant,
            "median_seconds": seconds,
            "ratio": ratio,
            "facts": facts,
        }

    machine = {"date": "2026-11-17T00:00"}
    dense = [entry("marginpath", 3.0, None, test_error=0.1), entry("LinearSVC, 7 C", 90.0, 30.0)]
    dense.append(entry("rehline SVM, 7 C", None, None))  # not installed
    facts = {"n": 10**6, "landmarks": 372, "above_data_MB": 3600, "Bayes_error": 0.013}
    landmarks = [entry("marginpath", 120.0, None, test_error=0.035, **facts)]
    for name, entries in (("dense", dense), ("landmarks", landmarks)):
        record = {"benchmark": name, "machine": machine, "entries": entries}
        (tmp_path / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    *_, two, one = table(tmp_path).splitlines()
    assert table(tmp_path).count("\n") == before + 2
    assert "| 3 s, error 10 % | LinearSVC, 7 C: 90 s (30 ×), unfinished |" in two
    assert "1,000,000 rows by 372 landmarks" in one
    assert "120 s, 3.6 GB above the data, error 3.5 % | least error possible 1.3 %" in one
