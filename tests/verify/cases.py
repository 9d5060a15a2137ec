"""Random problems for the fuzz: data, storage, precision, width, scale, weights and columns are drawn.

Some data are built around a maximum margin that is known exactly. A case also holds its exact numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

import marginpath as mp

from . import kernels
from .exact import ExactGram

#: The square of the maximum margin, given which samples count; None where it is not known.
Truth = Callable[[np.ndarray], Fraction | None]

_WIDTHS = [(1, 1), (2, 8), (9, 100), (101, 2000), (2001, 20_000)]
_DECADES = {np.float32: 15, np.float64: 200}  # of scales, up and down


@dataclass(frozen=True)
class Case:
    """A problem, the same numbers in exact arithmetic, and what is known of its margins."""

    problem: mp.Problem
    exact: ExactGram
    numbers: object  # X of a linear kernel, or K where it is stored
    columns: list[list[int]]  # labels, a list for each column
    weight: list[float]
    truths: list[Fraction | None]
    traits: dict[str, str]  # dimension → value, for the table
    intercept: bool = False

    def with_intercept(self):
        """Return the case in which the classifiers have an intercept; nothing is known of its margins."""
        Y = np.array(self.columns).T
        given = Y[:, 0] if len(self.columns) == 1 else Y
        problem = mp.Problem(self.problem.gram, given, self.problem.sample_weight, intercept=True)
        truths = [None] * len(self.columns)
        return replace(self, problem=problem, truths=truths, traits=self.traits, intercept=True)


def draw_case(rng):
    """Return a random case."""
    dtype = rng.choice([np.float32, np.float64])
    storage = str(rng.choice(["dense", "csr", "matrix", "kernel", "tiled"], p=_p(6, 3, 3, 4, 1)))
    traits = {"data": "", "storage": storage, "dtype": np.dtype(dtype).name, "width": "matrix", "scale": "1"}
    if storage == "matrix":
        traits["data"], K, y, truth = _matrix(rng, dtype)
        K, truth, traits["scale"] = _scaled(rng, K, truth, 1)
        return _labelled(rng, mp.Gram.from_matrix(K), ExactGram.from_matrix(K), K, y, truth, traits)
    low, high = _WIDTHS[rng.choice(len(_WIDTHS), p=_p(10, 55, 20, 10, 5))]
    traits["data"], X, y, truth = _samples(rng, dtype, int(rng.integers(low, high + 1)))
    traits["width"] = next(f"{low} to {high}" for low, high in _WIDTHS if X.shape[1] <= high)
    if storage in ("dense", "csr"):
        X, truth, traits["scale"] = _scaled(rng, X, truth, 2)
        numbers = X if storage == "dense" else sp.csr_array(X)
        return _labelled(rng, mp.Gram.linear(numbers), ExactGram.from_rows(X), numbers, y, truth, traits)
    name, kernel, exact_kernel = _kernel(rng, X.shape[1])
    traits["storage"] = f"{storage}, {name}"
    if storage == "tiled":
        gram, exact, numbers = mp.TiledGram(X, kernel), ExactGram.from_kernel(X, exact_kernel), None
    else:
        gram = mp.Gram.from_kernel(X, kernel)
        exact, numbers = ExactGram.from_matrix(gram.K), gram.K
    return _labelled(rng, gram, exact, numbers, y, _always(None), traits)


def _labelled(rng, gram, exact, numbers, y, truth, traits):
    """Draw weights and columns; both keep a sample of each class."""
    weighting = str(rng.choice(["none", "integers", "reals"], p=_p(2, 1, 1)))
    weight = {
        "none": np.ones(len(y)),
        "integers": rng.integers(0, 4, len(y)).astype(float),
        "reals": rng.exponential(size=len(y)) * 10.0 ** rng.integers(-6, 7, len(y)),
    }[weighting]
    weight[_first_of_each(y)] = 1.0
    k = int(rng.choice([1, 2, 5], p=_p(3, 1, 1)))
    mask = rng.random((len(y), k)) < rng.choice([0.7, 1.0])
    mask[_first_of_each(y)] = True
    Y = np.where(mask, np.outer(y, rng.choice([-1, 1], k)), 0)
    given = Y[:, 0] if k == 1 else Y
    problem = mp.Problem(gram, given, None if weighting == "none" else weight)
    return Case(
        problem=problem,
        exact=exact,
        numbers=numbers,
        columns=Y.T.tolist(),
        weight=weight.tolist(),
        truths=[truth((column != 0) & (weight != 0)) for column in Y.T],
        traits=traits | {"weights": weighting, "columns": f"{k}, with zeros" if (Y == 0).any() else f"{k}"},
    )


def _samples(rng, dtype, d):
    """Draw features: a name, X, labels, and the square of the maximum margin, where it is known."""
    n = int(rng.integers(2, 13 if d <= 200 else 5))
    y = rng.permutation(np.where(np.arange(n) % 2, 1, -1))
    X = rng.standard_normal((n, d)).astype(dtype)
    X[rng.random((n, d)) < rng.choice([0.0, 0.7])] = 0
    kinds = ["random", "integers", "nearly", "axis", "far", "opposite", "zero row", "toy", "equal"]
    same = 1 if d <= 2000 else 8  # long sums of equal terms round alike, which is the worst case
    data = str(rng.choice(kinds, p=_p(*[1] * 8, same)))
    if data == "integers":
        X = rng.integers(-3, 4, (n, d)).astype(dtype)
    if data == "nearly":  # a pair of opposite label that all but coincides
        i, j = _first_of_each(y)
        X[j] = X[i] * (1 + dtype(2.0 ** -rng.integers(4, 22)) * rng.standard_normal(d).astype(dtype))
    truth = _always(None)
    if data in ("axis", "far"):
        X, truth = _around_axis(rng, X, y, far=data == "far")
    if data == "equal":
        c = dtype(rng.uniform(0.1, 1))
        X, truth = np.outer(y, np.full(d, c)).astype(dtype), _always(d * Fraction(float(c)) ** 2)
    if data == "opposite":
        i, j = _first_of_each(y)
        X[j] = X[i]
        truth = _always(Fraction(0))
    if data == "zero row":
        X[_first_of_each(y)[0]] = 0
        truth = _always(Fraction(0))
    if data == "toy":
        X, y, truth = _toy(rng, dtype)
    return data, X, y, truth


def _around_axis(rng, X, y, far):
    """Return samples y_i z_i with z_i1 ≥ γ, and two z = γ e_1 ± a: the maximum margin is γ."""
    i, j = _first_of_each(y)
    γ = X.dtype.type(2.0 ** rng.uniform(-8, 2))
    Z = X.copy()
    Z[:, 0] = np.maximum(γ, γ + np.abs(Z[:, 0]))
    if far:
        Z[rng.integers(len(Z))] *= X.dtype.type(2.0 ** rng.integers(10, 41))
    Z[j] = -Z[i]
    Z[[i, j], 0] = γ
    return Z * y[:, None].astype(X.dtype), _always(Fraction(float(γ)) ** 2)


def _toy(rng, dtype):
    """Return the support ±(1/2, 3/2), ±(3/2, 1/2) of the toy set and some of its other points: margin √2."""
    toy = mp.datasets.toy()
    index = np.concatenate([[0, 40, 1, 41], rng.choice([*range(2, 40), *range(42, 80)], 6, replace=False)])
    X, y = toy.X[index].astype(dtype), toy.y[index].astype(int)
    outside = all(
        int(s) * (Fraction(float(a)) + Fraction(float(b))) >= 2 for (a, b), s in zip(X, y, strict=True)
    )

    def truth(counts):
        return Fraction(2) if outside and counts[:4].all() else None

    return X, y, truth


def _matrix(rng, dtype):
    """Draw a kernel matrix: a name, K, labels, and the square of the maximum margin, where it is known."""
    n = int(rng.integers(2, 13))
    y = rng.permutation(np.where(np.arange(n) % 2, 1, -1))
    data = str(rng.choice(["diagonal", "ones", "wishart", "near singular"]))
    if data == "diagonal":
        K = np.diag((2.0 ** rng.uniform(-4, 4, n)).astype(dtype))
        inverse = [1 / Fraction(float(a)) for a in np.diag(K)]
        return data, K, y, lambda counts: 1 / sum(a for a, c in zip(inverse, counts, strict=True) if c)
    if data == "ones":
        return data, np.full((n, n), rng.uniform(0.1, 1), dtype=dtype), y, _always(Fraction(0))
    B = rng.standard_normal((n, 2 * n if data == "wishart" else n - 1))
    K = (B @ B.T).astype(dtype)
    return data, np.triu(K) + np.triu(K, 1).T, y, _always(None)


def _kernel(rng, d):
    """Draw a kernel: its name, itself, and the same in exact arithmetic."""
    name, σ = (
        str(rng.choice(["gaussian", "laplacian", "polynomial"])),
        float(10 ** rng.uniform(-1, 1)) * d**0.5,
    )
    if name == "gaussian":
        return name, mp.Gaussian(σ), kernels.gaussian(σ)
    if name == "laplacian":
        return name, mp.Laplacian(σ * d**0.5), kernels.laplacian(σ * d**0.5)
    settings = int(rng.integers(2, 5)), 1 / d, float(rng.integers(0, 2))
    return name, mp.Polynomial(*settings), kernels.polynomial(*settings)


def _scaled(rng, numbers, truth, degree):
    """Multiply by a power of two, which is exact; the square of the margin is of that degree in it."""
    decades = _DECADES[numbers.dtype.type]
    if rng.random() < 0.5:
        return numbers, truth, "1"
    exponent = rng.uniform(-decades, decades) / rng.choice([1, 4])
    e = int(exponent / np.log10(2))
    side = "small" if e < 0 else "large"
    name = f"{side}, to 1e{'-' if e < 0 else ''}{decades // 4 if abs(exponent) <= decades / 4 else decades}"

    def scaled_truth(counts):
        square = truth(counts)
        return None if square is None else square * Fraction(2) ** (degree * e)

    return np.ldexp(numbers, e), scaled_truth, name


def _always(square):
    return lambda counts: square


def _first_of_each(y):
    """Return the first sample of either class: they always count."""
    return [int(np.argmax(y == 1)), int(np.argmax(y == -1))]


def _p(*shares):
    return np.array(shares) / sum(shares)
