"""The same numbers from any library that follows the array API."""

import array_api_strict
import numpy as np
import pytest
from naive import random_problem

import marginpath as mp
from marginpath.arrays import take_columns


def strict(x):
    return array_api_strict.asarray(np.asarray(x))


def tensor(x):
    torch = pytest.importorskip("torch")
    return torch.asarray(np.asarray(x))


LIBRARIES = [strict, pytest.param(tensor, marks=pytest.mark.heavy)]
GRAMS = {
    "linear": mp.Gram.linear,
    "gaussian": lambda X: mp.Gram.from_kernel(X, mp.Gaussian(0.8)),
    "laplacian": lambda X: mp.Gram.from_kernel(X, mp.Laplacian(1.5)),
    "polynomial": lambda X: mp.Gram.from_kernel(X, mp.Polynomial(2, coef0=1.0)),
    "cosine": lambda X: mp.Gram.from_kernel(X, mp.Cosine()),
    "callable": lambda X: mp.Gram.from_kernel(X, lambda A, B: (A @ B.T) ** 2),
    "matrix": lambda X: mp.Gram.from_matrix(X @ X.T),
}


@pytest.mark.parametrize("asarray", LIBRARIES)
@pytest.mark.parametrize(
    "name",
    [n if n in ("linear", "gaussian", "matrix") else pytest.param(n, marks=pytest.mark.heavy) for n in GRAMS],
)
@pytest.mark.parametrize("k", [None, 3])
def test_runs_agree_with_numpy(asarray, name, k):
    X, _, y = random_problem(0, 30, "kernel")
    rng = np.random.default_rng(0)
    Y = y if k is None else rng.permuted(np.repeat(y[:, None], k, axis=1), axis=0)
    weights = rng.integers(1, 4, 30)
    held_out = (X[:5] @ X.T if name == "matrix" else X[:5]), Y[:5]
    step_size = 0.2 / GRAMS[name](X).norm_bounds()[1]
    solver = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3), step_size)

    def path(convert):
        problem = mp.Problem(GRAMS[name](convert(X)), convert(Y), convert(weights))
        error = mp.HeldOutError(problem, *map(convert, held_out))
        stop = None if k is None else (lambda p, s, path: convert(np.array([s.t >= 20, False, False])))
        return problem, mp.run(
            solver, problem, 40, observe={**mp.metrics.METRICS, "held_out": error}, stop=stop
        )

    (_, expected), (problem, found) = path(np.asarray), path(asarray)
    assert type(found.last.u) is type(asarray(X))
    for observed in expected.rows:
        if observed != "seconds":
            np.testing.assert_allclose(found[observed], expected[observed], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.asarray(found.last.u), expected.last.u, rtol=1e-12, atol=1e-12)
    lower, upper = mp.margin_bounds(problem, found.last.u)
    assert np.all(np.asarray(lower) <= np.asarray(upper))
    np.testing.assert_allclose(
        np.asarray(problem.gram.rows([3, 1])), GRAMS[name](X).rows([3, 1]), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("asarray", LIBRARIES)
def test_saved_paths_come_back_to_the_library(asarray, tmp_path):
    X, _, y = random_problem(0, 10, "kernel")
    problem = mp.Problem(mp.Gram.from_kernel(asarray(X), mp.Gaussian(0.8)), asarray(y))
    solver = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3))
    whole = mp.run(solver, problem, 20)
    mp.run(solver, problem, 8).save(tmp_path / "path.npz")
    resumed = mp.resume(mp.Path.load(tmp_path / "path.npz"), problem, 12)
    assert type(resumed.last.u) is type(asarray(X))
    np.testing.assert_array_equal(np.asarray(resumed.last.u), np.asarray(whole.last.u))


@pytest.mark.parametrize("asarray", [np.asarray, *LIBRARIES])
@pytest.mark.parametrize("name", GRAMS)
def test_float32_stays_float32(asarray, name):
    X, _, y = random_problem(0, 10, "kernel")
    gram = GRAMS[name](asarray(X.astype(np.float32)))
    problem = mp.Problem(gram, y, sample_weight=np.ones(10))
    last = mp.run(mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3)), problem, 10).last
    dtypes = {str(x.dtype).rpartition(".")[2] for x in [gram.diagonal, *last.arrays().values()]}
    assert dtypes == {"float32"}


@pytest.mark.parametrize("asarray", [np.asarray, *LIBRARIES])
@pytest.mark.parametrize("index", [[4], [1, 3, 5], [5, 3, 1], [0, 1, 5], [2, 2], []])
def test_columns_that_are_taken(asarray, index):
    values, index = np.arange(12.0).reshape(2, 6), np.array(index, dtype=int)
    np.testing.assert_array_equal(np.asarray(take_columns(asarray(values), index)), values[:, index])
