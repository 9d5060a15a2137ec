"""The paper's figures: against naive loops; the command; what is published."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from marginpath_lab import experiments
from marginpath_lab.experiments import (
    fig1,
    fig2,
    fig5,
    losses,
    mixture_figure,
    mixture_picture,
    mixture_runs,
    pieces,
    real_runs,
)
from marginpath_lab.experiments.observing import average, spaced_steps
from marginpath_lab.experiments.pieces import Pieces
from marginpath_lab.experiments.settings import PROGRAM, SETTINGS, TEXT, find_settings
from marginpath_lab.experiments.toy_runs import toy_runs
from reference_data import require_data
from sklearn.datasets import load_digits
from typer.testing import CliRunner

import marginpath as mp
from marginpath.app import cli

PUBLISHED = Path(__file__).parents[2] / "docs" / "_static" / "reproduction"
PNG = b"\x89PNG\r\n\x1a\n"
FIG3 = experiments.find("fig3")


def run_command(*words):
    return CliRunner().invoke(cli.build_app(), ["reproduce", *map(str, words)])


def read_csv(file):
    return list(csv.DictReader(io.StringIO(Path(file).read_text(encoding="utf-8"))))


# --- naive loops, on reduced sizes


def naive_path(A, bounds, factors, step):
    """Yield u after every update of Algorithm 1 or 2, as the paper writes it."""
    u = previous = np.zeros(len(A))
    for b, factor in zip(bounds, factors, strict=True):
        q = u + factor * (u - previous)
        u, previous = np.clip(q - step * (A @ q + 1), -b, 0), u
        yield u


def naive_margin(A, u):
    return np.min(-A @ u) / np.sqrt(u @ A @ u)


def test_figure_2_as_the_text_has_it():
    settings = replace(TEXT, toy_steps=60)
    table = fig2.compute(settings)
    X, y = table.runs.X, table.runs.y
    Z = X * y[:, None]
    step, t = 1 / np.linalg.norm(Z, 2) ** 2, np.arange(1, 61)
    for i, alpha in enumerate((None, 10, 30, 50)):
        factors = np.zeros(60) if alpha is None else t / (t + alpha)
        w = np.array([-Z.T @ u for u in naive_path(Z @ Z.T, t / 4, factors, step)])
        np.testing.assert_allclose(table.runs.w[i], w, rtol=0, atol=1e-12)
        unit = w / np.linalg.norm(w, axis=1, keepdims=True)
        np.testing.assert_allclose(table.runs.margin_gap()[i], 2**0.5 - (unit @ Z.T).min(axis=1), atol=1e-12)
        np.testing.assert_allclose(table.runs.angle_gap()[i], 1 - unit.sum(axis=1) / 2**0.5, atol=1e-12)


@pytest.mark.parametrize("settings", [TEXT, PROGRAM], ids=["text", "program"])
def test_bounds_are_over_what_they_bound(settings):
    table = fig2.compute(settings)
    runs = table.runs
    measured = dict(
        zip(runs.schemes, np.stack([runs.error(), runs.margin_gap(), runs.angle_gap()], 1), strict=True)
    )
    assert set(table.bounds) == set(runs.schemes[:4] if settings is TEXT else runs.schemes[:1])
    for name, bound in table.bounds.items():
        assert (measured[name] <= bound * (1 + 1e-9)).all()
        assert np.isfinite(bound[:, -1]).all()


@pytest.mark.parametrize("settings", [TEXT, PROGRAM], ids=["text", "program"])
def test_last_iterates_overlap(settings):
    table = fig1.compute(settings)
    assert (fig1.degrees(table) < 0.1).all()
    assert fig1.degrees(table)[-1] < 1e-6  # with restarts
    np.testing.assert_allclose(table.w[1:, -1], 0.5, atol=1e-4)


@pytest.mark.parametrize("figure", ["fig3", "fig4"])
@pytest.mark.parametrize("settings", [TEXT, PROGRAM], ids=["text", "program"])
def test_columns_are_separate_runs(figure, settings):
    """Every λ_t, noise level and algorithm again, by hand and one by one."""
    settings = replace(settings, mixture_steps=40)
    data = mp.datasets.gaussian_mixture(settings.name, 60, 60, seed=0)
    labels = [data.y, mp.noise.flip_exactly(data.y, 12, seed=3)]
    steps = np.arange(1, 41)
    found = mixture_runs.run_columns(settings, figure, data, labels, steps)
    sigma = getattr(settings, f"{figure}_sigma")

    def kernel(X):
        return np.exp(-((X[:, None] - data.X) ** 2).sum(axis=2) / (2 * sigma**2))

    K, t = kernel(data.X), steps + (settings.name == "program")
    decays = [t / value for value in settings.fig3_lambda0s]
    if figure == "fig4":
        decays = [f / settings.fig4_lambda0 for f in (np.log(t), t**0.5, t, t**2, 2.0**t)]
    inertia = steps / (steps + 4) if settings.name == "text" else (steps - 1) / (steps + 3)
    for a, p, k in np.ndindex(found["margin"].shape[:-1]):
        A = labels[p][:, None] * K * labels[p]
        path = list(naive_path(A, decays[k], a * inertia, 1 / np.linalg.norm(A, 2)))
        margins = [naive_margin(A, u) if u.any() else 0 for u in path]
        np.testing.assert_allclose(found["margin"][a, p, k], margins, rtol=0, atol=1e-10)
        decision = -kernel(data.X_test) @ (labels[p] * path[-1])
        assert found["error"][a, p, k, -1] == np.mean(data.y_test * decision <= 0)


@pytest.fixture
def digits(monkeypatch):
    """Digits that ship with scikit-learn in the place of MNIST 3 vs 5; no other data set."""
    X, y = load_digits(return_X_y=True)
    keep = np.isin(y, (3, 5))
    X, y = (X[keep] / 16).astype(np.float32), np.where(y[keep] == 5, 1, -1)
    data = mp.datasets.Dataset("digits", X[:250], y[:250], X[250:], y[250:], ("3", "5"))

    def load(settings, name, seed=0):
        if name != "MNIST 3 vs 5":
            raise FileNotFoundError(f"{name} is not here.\nA second line.")
        return data

    monkeypatch.setattr(real_runs, "load", load)
    return data


def test_figure_5_on_a_reduced_size(digits):
    settings = replace(PROGRAM, real_steps=30)
    table = fig5.compute(settings)
    assert table.data_sets == ["MNIST 3 vs 5"]
    assert table.left_out["HTRU2"] == "HTRU2 is not here."
    runs = {run.method: run for run in table.runs}
    assert list(runs) == list(real_runs.METHODS)

    X = digits.X.astype(float)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * 3.4**2))
    A = digits.y[:, None] * K * digits.y
    L, t = np.linalg.norm(A, 2), np.arange(1, 31)
    start = 0.01 * np.random.default_rng(0).standard_normal(250)
    for method, factor, inertia in (("Algorithm 1", 1.21, 0 * t), ("Algorithm 2", 1.1, (t - 1) / (t + 3))):
        u = previous = start
        for k in range(30):
            q = u + inertia[k] * (u - previous)
            u, previous = np.clip(q - factor / L * (A @ q + 1), -(t[k] + 1), 0), u
        assert runs[method].margin[-1] == pytest.approx(naive_margin(A, u), abs=1e-4)

    v = np.zeros(250)
    for k in range(2, 32):
        r = np.exp(-A @ v)
        v = v + r / np.sqrt(k * r @ A @ r)
    assert runs["normalized gradient"].margin[-1] == pytest.approx(
        np.min(A @ v) / np.sqrt(v @ A @ v), abs=1e-4
    )

    v, g, q = np.zeros(250), np.zeros(250), np.full(250, 1 / 250)
    for k in range(2, 32):
        g = k / (k + 1) * (g + q)
        v = v + g + q
        q = np.exp(-A @ v - np.max(-A @ v))
        q /= q.sum()
    margin = np.min(A @ v) / np.sqrt(v @ A @ v)
    assert runs["accelerated mirror descent"].margin[-1] == pytest.approx(margin, abs=1e-4)

    best = float(mp.maximum_margin(mp.Problem(mp.Gram.from_matrix(K), digits.y)).margin_bounds[0])
    assert runs["coordinate descent"].margin[-1] == pytest.approx(best, rel=0.2)
    for run in table.runs:
        assert run.margin[-1] <= best + 1e-6
        assert (np.diff(run.seconds) >= 0).all()
        assert (run.error >= 0).all()


def test_half_of_the_matrix_gives_the_whole_product(rng):
    X = rng.standard_normal((50, 3)).astype(np.float32)
    dense = mp.Gram.from_kernel(X, mp.Gaussian(sigma=1.0))
    half = real_runs.HalfGram(dense.K, dense.cross)
    for V in (rng.standard_normal(50).astype(np.float32), rng.standard_normal((50, 2)).astype(np.float32)):
        np.testing.assert_allclose(half @ V, dense.K.astype(float) @ V, rtol=1e-5, atol=1e-5)


def test_standardized_pixels(monkeypatch):
    X = np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 5.0]], dtype=np.float32)
    data = mp.datasets.Dataset("pixels", X, np.array([1, -1, 1]), X[:1], np.array([1]), ("a", "b"))
    monkeypatch.setattr(mp.datasets, "load_mnist", lambda digits: data)
    np.testing.assert_allclose(real_runs.load(TEXT, "MNIST 3 vs 5").X, [[0, -1], [0, 0], [0, 1]])
    assert real_runs.load(PROGRAM, "MNIST 3 vs 5") is data


def test_losses_are_those_of_section_3():
    table = losses.compute()
    a = table.margins
    np.testing.assert_allclose(table.values["exponential"], np.exp(-a))
    np.testing.assert_allclose(table.values["logistic"], np.log(1 + np.exp(-a)))
    np.testing.assert_allclose(table.values["hinge"], np.maximum(0, 1 - a))


def test_averages_and_steps():
    steps = spaced_steps(2000)
    assert steps[0] == 1
    assert steps[-1] == 2000
    assert 200 in steps
    assert (np.diff(steps) > 0).all()
    assert average(steps, np.stack([steps, 0 * steps + 3.0])).tolist() == pytest.approx([1000.5, 3])


# --- pieces, and the command


def test_pieces_are_made_once_and_picked_up_again(tmp_path, monkeypatch):
    made = []

    def make():
        made.append(1)
        return {"values": np.arange(3.0)}

    for _ in range(2):
        np.testing.assert_array_equal(Pieces(tmp_path / "folder").get("key", make)["values"], [0, 1, 2])
    assert len(made) == 1
    Pieces(tmp_path / "folder").get("another key", make)
    monkeypatch.setattr(pieces, "_code", lambda: "changed")
    Pieces(tmp_path / "folder").get("key", make)
    assert len(made) == 3
    for file in (tmp_path / "folder").rglob("output.pkl"):
        file.write_bytes(b"broken")
    assert "key" not in Pieces(tmp_path / "folder")
    Pieces(tmp_path / "folder").get("key", make)
    assert "key" in Pieces(tmp_path / "folder")
    assert len(made) == 4
    Pieces(tmp_path / "folder").clear()
    assert not (tmp_path / "folder").exists()


def test_an_interrupted_run_goes_on_where_it_was(tmp_path, monkeypatch):
    small = replace(PROGRAM, mixture_steps=20)
    actual, calls = mixture_runs.run_columns, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return actual(*args)

    monkeypatch.setattr(mixture_runs, "run_columns", interrupted)
    with pytest.raises(KeyboardInterrupt):
        FIG3.compute(small, Pieces(tmp_path), draws=4, n=20)
    table = FIG3.compute(small, Pieces(tmp_path), draws=4, n=20)
    assert len(calls) == 3 + 2
    np.testing.assert_array_equal(table.margin, FIG3.compute(small, draws=4, n=20).margin)


def test_an_interrupted_command_keeps_what_is_finished(tmp_path, monkeypatch):
    def compute(settings, pieces, watch):
        pieces.get("first", lambda: {"values": np.ones(1)})
        raise KeyboardInterrupt

    monkeypatch.setattr(fig1, "compute", compute)
    ran = run_command("fig1", "--out", tmp_path)
    assert ran.exit_code == 130
    assert "The same command goes on" in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == [".unfinished"]


def test_tables_and_panels_of_figure_3():
    table = FIG3.compute(replace(PROGRAM, mixture_steps=10), draws=3, n=20)
    tables = mixture_figure.mixture_tables(table)
    line = list(csv.DictReader(io.StringIO(tables["fig3_draws.csv"])))[-1]
    margins = table.margin[:, -1, -1, -1, -1]
    assert float(line["margin_mean"]) == pytest.approx(margins.mean(), abs=1e-9)
    assert float(line["margin_sd"]) == pytest.approx(margins.std(ddof=1), abs=1e-9)
    assert (line["algorithm"], line["noise"], line["lambda_t"]) == ("Algorithm 2", "0.2", "λ0 = 0.01")
    for figure in (mixture_picture.draw_first(table), mixture_picture.draw_bands(table)):
        assert len(figure.axes) == 12
        panel = figure.axes[-1]  # Algorithm 2, 20 % noise, test error
        np.testing.assert_array_equal(panel.lines[0].get_xdata(), table.steps)
    np.testing.assert_allclose(panel.lines[-1].get_ydata(), table.error[:, 1, 2, -1].mean(axis=0))


@pytest.mark.parametrize("name", ["losses", "fig1", "fig2"])
def test_reproduce_writes_tables_and_pictures(name, tmp_path):
    ran = run_command(name, "--out", tmp_path, "--as", "text")
    assert ran.exit_code == 0, ran.output
    assert re.search(rf"{name} with the settings of the text took \d+ s\.", ran.stdout)
    assert len(read_csv(tmp_path / f"{name}.csv")) >= 5
    assert (tmp_path / f"{name}.png").read_bytes()[:8] == PNG
    assert b"<svg" in (tmp_path / f"{name}.svg").read_bytes()


def test_unknown_names_are_refused():
    assert run_command("fig6").exit_code == 2
    ran = run_command("fig1", "--as", "paper")
    assert ran.exit_code == 2
    assert "program, text" in ran.stderr
    with pytest.raises(ValueError, match="There are no settings 'paper'; there are program and text"):
        find_settings("paper")


def test_all_makes_all_and_says_what_is_left_out(tmp_path, monkeypatch, digits):
    """With data that cannot be reached, and reduced sizes."""
    monkeypatch.setattr(experiments, "NAMES", ("losses", "fig5"))
    monkeypatch.setitem(SETTINGS, "program", replace(PROGRAM, real_steps=5))
    ran = run_command("all", "--out", tmp_path)
    assert ran.exit_code == 0, ran.output
    assert "Left out: HTRU2. HTRU2 is not here." in ran.stdout
    assert {"losses.csv", "fig5.csv", "fig5.svg", "fig5_seconds.png", "fig5.md"} <= {
        path.name for path in tmp_path.iterdir()
    }

    def nothing(settings, name, seed=0):
        raise FileNotFoundError("no data at all")

    monkeypatch.setattr(real_runs, "load", nothing)
    ran = run_command("fig5", "--out", tmp_path / "none")
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.count("no data at all") == 4
    assert not list((tmp_path / "none").iterdir())


def test_all_goes_on_without_an_experiment_whose_data_is_not_there(tmp_path, monkeypatch):
    def missing(**settings):
        raise FileNotFoundError("htru2 was not found.\n1. Not here.")

    monkeypatch.setattr(experiments, "NAMES", ("stopping_rules", "losses"))
    monkeypatch.setattr(experiments.find("stopping_rules"), "compute", missing)
    ran = run_command("all", "--out", tmp_path)
    assert ran.exit_code == 0, ran.output
    assert "stopping_rules is left out: htru2 was not found.\n" in ran.output
    assert (tmp_path / "losses.csv").exists()
    ran = run_command("stopping_rules", "--out", tmp_path)
    assert ran.exit_code == 1
    assert "Nothing reproduced. htru2 was not found." in ran.output


# --- what is published


@pytest.mark.parametrize("figure", ["fig3", "fig4"])
def test_the_published_draw_comes_out_again(figure):
    """The same seed gives the same numbers to 1e-8; here, the first 200 updates."""
    lines = [x for x in read_csv(PUBLISHED / "program" / f"{figure}.csv") if int(x["step"]) <= 200]
    steps = np.unique([int(line["step"]) for line in lines])
    found = mixture_runs.run_columns(PROGRAM, figure, *mixture_runs.drawn(PROGRAM, 0), steps)
    for name, values in found.items():
        published = [float(line[name]) for line in lines]
        np.testing.assert_allclose(values.ravel(), published, rtol=0, atol=1e-8)


def test_the_published_iterates_come_out_again():
    lines = read_csv(PUBLISHED / "program" / "fig1.csv")
    w = toy_runs(PROGRAM, Pieces()).w[:, -1]
    np.testing.assert_allclose(
        [[float(line["w1"]), float(line["w2"])] for line in lines], w, rtol=0, atol=1e-8
    )


@pytest.mark.heavy
@pytest.mark.parametrize("figure", ["fig3", "fig4"])
def test_all_published_draws_come_out_again(figure):
    runs = mixture_runs.mixture_runs(PROGRAM, figure, Pieces())
    lines = read_csv(PUBLISHED / "program" / f"{figure}_draws.csv")
    for name in ("margin", "error"):
        published = np.array([float(line[f"{name}_mean"]) for line in lines])
        np.testing.assert_allclose(getattr(runs, name).mean(axis=0).ravel(), published, rtol=0, atol=1e-8)


@pytest.mark.heavy
def test_the_published_figure_5_comes_out_again():
    """One data set, in float32: 1e-4 in the margins, 2 samples in the errors."""
    require_data("mnist")
    lines = [x for x in read_csv(PUBLISHED / "program" / "fig5.csv") if x["data"] == "MNIST 3 vs 5"]
    runs, _ = real_runs.real_runs(replace(PROGRAM), Pieces(), ["MNIST 3 vs 5"], real_runs.PAPER_METHODS)
    for run in runs:
        mine = [line for line in lines if line["method"] == run.method]
        np.testing.assert_allclose(run.margin, [float(line["margin"]) for line in mine], rtol=0, atol=1e-4)
        np.testing.assert_allclose(
            run.error, [float(line["error"]) for line in mine], rtol=0, atol=2.001 / 1902
        )
