"""Who leads in margin on HTRU2: columns of one run against a run for each λ0, and the published table."""

from dataclasses import replace

import numpy as np
import pytest
from marginpath_lab.experiments import htru2_lambda0
from marginpath_lab.experiments.htru2_lambda0 import Way, lead
from marginpath_lab.experiments.real_runs import run_method

import marginpath as mp
from marginpath.gram.dense import DenseGram


@pytest.fixture(scope="module")
def table():
    data = mp.datasets.gaussian_mixture(n_samples=60, n_test=40)
    small = replace(data, X=data.X.astype(np.float32), X_test=data.X_test.astype(np.float32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(htru2_lambda0, "load", lambda settings, name: small)
        return small, htru2_lambda0.compute(lambda0s=(1.0, 20.0), steps=30)


def test_columns_are_the_runs_of_figure_5_with_that_lambda0(table):
    data, ways = table
    assert [way.name for way in ways] == list(htru2_lambda0.WAYS)
    for way, settings in zip(ways, htru2_lambda0.WAYS.values(), strict=True):
        gram = mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=settings.htru2_sigma))
        problem = mp.Problem(DenseGram(gram.K, gram.cross), data.y)
        error = mp.HeldOutError(problem, data.X_test, data.y_test)
        for j, lambda0 in enumerate(way.lambda0s):
            alone = replace(settings, real_lambda0=lambda0, real_steps=30)
            run = run_method(alone, "HTRU2", "Algorithm 2", problem, error)
            np.testing.assert_allclose(way.margins[run["steps"], j], run["margin"], atol=1e-5)
            assert way.errors[j] == pytest.approx(run["error"][-1], abs=1 / 40)
        mirror = run_method(alone, "HTRU2", "accelerated mirror descent", problem, error)
        np.testing.assert_allclose(way.mirror[mirror["steps"]], mirror["margin"], atol=1e-5)


def test_changes_of_the_lead():
    margins = np.zeros((7, 1))
    for mirror, changes, said in (
        ([0, -1, -1, -1, -1, -1, -1], [], "never"),
        ([0, -1, 1, 1, -1, -1, 1], [2, 4, 6], "2, back at 4, for good at 6"),
        ([0, 1, 1, 1, 1, 1, 1], [1], "1"),
    ):
        way = Way("", (1.0,), np.array(mirror, dtype=float), margins, 0.0, np.zeros(1))
        assert way.changes(0) == changes
        assert lead(changes) == said


def test_files(table):
    files = htru2_lambda0.files(table[1])
    assert set(files) == {f"htru2_lambda0.{kind}" for kind in ("csv", "md", "svg", "png")}
    assert len(files["htru2_lambda0.csv"].decode().splitlines()) == 1 + 3 * 30
    assert htru2_lambda0.printed(table[1]).row_count == 6
