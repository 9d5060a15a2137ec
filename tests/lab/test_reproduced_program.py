"""Figures as the authors' program makes them, where the settings coincide: u0 = 0 and step 1/L."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from marginpath_lab.experiments import (
    mixture_runs,
    real_runs,
)
from marginpath_lab.experiments.pieces import Pieces
from marginpath_lab.experiments.settings import PROGRAM, TEXT
from marginpath_lab.experiments.toy_runs import toy_runs
from reference_data import FIXTURES, REAL, require_data

REFERENCE_NAMES = dict(zip(real_runs.PAPER_METHODS, ("FB_l1", "iFB_a3_l1", "NGD", "iPD"), strict=True))


@pytest.mark.parametrize("lambda0", [0.001, 4])
def test_figure_2_is_that_of_the_program(lambda0):
    stored = np.load(FIXTURES / "toy.npz")
    y, X = stored["in/toy"][:, 0], stored["in/toy"][:, 1:]
    settings = replace(PROGRAM, toy_step=1, toy_lambda0=lambda0)
    runs = toy_runs(settings, Pieces(), data=SimpleNamespace(X=X, y=y))
    rows = stored["rows"][stored["rows"] > 0]
    names = [f"toy_FB_l{lambda0}", *(f"toy_iFB_a{alpha}_l{lambda0}" for alpha in (10, 30, 50))]
    for name, w, margin in zip(names, runs.w[:4], runs.margin()[:4], strict=True):
        expected = stored[f"out/{name}"][stored["rows"] > 0]
        np.testing.assert_allclose(w[rows - 1], expected[:, :2], rtol=0, atol=1e-12)
        np.testing.assert_allclose(margin[rows - 1], expected[:, 2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("figure", ["fig3", "fig4"])
def test_figures_3_and_4_are_those_of_the_program(figure):
    stored = np.load(FIXTURES / "gauss.npz")
    noise = ("", "_p10", "_p20")
    test = stored["in/gauss_test"]
    data = SimpleNamespace(X=stored["in/gauss_train"][:, 1:], X_test=test[:, 1:], y_test=test[:, 0])
    labels = [stored[f"in/gauss_train{p}"][:, 0] for p in noise]
    settings = replace(
        PROGRAM,
        fig3_sigma=TEXT.fig3_sigma,
        fig3_lambda0s=TEXT.fig3_lambda0s,
        fig4_sigma=TEXT.fig4_sigma,
        fig4_lambda0=8,
    )
    rows = (stored["rows"] > 0) & (stored["rows"] <= 600)
    steps = stored["rows"][rows]
    found = mixture_runs.run_columns(settings, figure, data, labels, steps)
    series = [("", value) for value in (100, 10, 1, 0.01)]
    if figure == "fig4":
        series = [("log", 8), ("square", 8), None, ("two", 8), ("exp", 8)]  # 8/t was not stored
    for a, p, k in np.ndindex(found["margin"].shape[:-1]):
        if series[k] is None:
            continue
        decay, value = series[k]
        name = f"out/gauss{noise[p]}_{f'iFB{decay}_a3' if a else f'FB{decay}'}_l{value}"
        expected = stored[f"{name}/margin"][rows]
        np.testing.assert_allclose(found["margin"][a, p, k], expected, rtol=0, atol=1e-10, err_msg=name)
        wrong = np.round(found["error"][a, p, k] * 600)
        np.testing.assert_array_equal(wrong, stored[f"{name}/wrong"][steps], name)


@pytest.mark.parametrize(("name", "key"), [("MNIST 3 vs 5", "mnist35"), ("HTRU2", "htru2")])
def test_figure_5_is_that_of_the_program(name, key):
    """In float32: within 1e-4 of the margins and 2 samples of the errors, of trajectories in float64."""
    X, y, X_test, y_test, _ = REAL[key]()
    stored = np.load(FIXTURES / f"{key}.npz")
    data = SimpleNamespace(X=X.astype(np.float32), y=y, X_test=X_test.astype(np.float32), y_test=y_test)
    settings = replace(PROGRAM, mnist_step_1=1, mnist_step_2=1, mnist_start=0, real_steps=299)
    problem, error = real_runs.prepare(settings, name, data)
    assert real_runs.largest_eigenvalue(problem.gram) == pytest.approx(
        float(stored[f"out/{key}_L"]), rel=1e-6
    )
    for method, reference in REFERENCE_NAMES.items():
        run = real_runs.run_method(settings, name, method, problem, error)
        expected = stored[f"out/{key}_{reference}"][run["steps"]]
        np.testing.assert_allclose(run["margin"], expected[:, 0], rtol=0, atol=1e-4, err_msg=method)
        np.testing.assert_allclose(run["error"], expected[:, 1], rtol=0, atol=2.001 / len(y_test))


@pytest.mark.heavy
def test_mnist_3_vs_5_after_200_updates():
    """All 11,552 images, with the steps and the start of the program."""
    require_data("mnist")
    noted = {
        "Algorithm 1": (-0.0118, 0.0074),
        "Algorithm 2": (0.0285, 0.0047),
        "normalized gradient": (-0.0471, 0.0200),
        "accelerated mirror descent": (0.0217, 0.0063),
    }
    settings = replace(PROGRAM, real_steps=200)
    runs, left_out = real_runs.real_runs(settings, Pieces(), ["MNIST 3 vs 5"], list(noted))
    assert not left_out
    for run in runs:
        margin, error = noted[run.method]
        assert run.steps[-1] == 200
        assert run.margin[-1] == pytest.approx(margin, abs=0.004)
        assert run.error[-1] == pytest.approx(error, abs=0.003)
