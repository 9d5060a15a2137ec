"""Every example of the gallery runs, without warnings, and draws."""

import ast
import runpy
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))
HEAVY = {
    "plot_03_mislabelled",
    "plot_04_margin_closing",
    "plot_05_all_methods",
    "plot_09_small_device",
    "plot_10_million_rows",
}


def test_there_are_examples_for_all_that_was_promised():
    assert len(EXAMPLES) >= 8
    assert {path.stem for path in EXAMPLES} >= HEAVY


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=p.stem, marks=[pytest.mark.heavy] if p.stem in HEAVY else []) for p in EXAMPLES],
)
def test_runs_and_draws(path, monkeypatch):
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    before = plt.get_backend()
    plt.switch_backend("Agg")
    try:
        with mpl.rc_context():
            runpy.run_path(str(path))
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert figures
        for figure in figures:
            figure.canvas.draw()
            assert any(axes.has_data() for axes in figure.axes)
    finally:
        plt.close("all")
        plt.switch_backend(before)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_opens_with_a_title_and_a_story(path):
    title, line, empty, story = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).split("\n", 3)
    assert line == "=" * len(title)
    assert not empty
    assert len(story) > 80
