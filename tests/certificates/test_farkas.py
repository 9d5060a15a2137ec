"""Proofs that nothing separates: checked by numbers that are made anew, and against a linear program."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import marginpath as mp
from marginpath.certificates.farkas import Farkas, nonseparability


def combined(proof, X, y):
    """Return Σ v_i y_i (x_i, 1) in rational numbers, without the package."""
    rows = [[Fraction(float(value)) for value in X[i]] + [Fraction(1)] for i in proof.samples]
    signs = [int(y[i]) for i in proof.samples]
    return [
        sum(v * s * row[j] for v, s, row in zip(proof.weights, signs, rows, strict=True))
        for j in range(X.shape[1] + 1)
    ]


def is_separable(X, y, intercept):
    """Return whether y (⟨w, x⟩ + b) ≥ 1 has a solution, by another program than the one that proofs use."""
    rows = np.column_stack([X, np.ones(len(X))]) if intercept else X
    bounds = [(None, None)] * rows.shape[1]
    return linprog(
        np.zeros(rows.shape[1]), A_ub=-y[:, None] * rows, b_ub=-np.ones(len(y)), bounds=bounds
    ).success


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 30),
    d=st.integers(1, 6),
    intercept=st.booleans(),
    whole=st.booleans(),
)
@settings(max_examples=150)
def test_there_is_a_proof_where_nothing_separates_and_only_there(seed, n, d, intercept, whole):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)).astype(float) if whole else rng.standard_normal((n, d))
    y = np.where(rng.permutation(n) % 2, 1.0, -1.0)
    proof = nonseparability(X, y, intercept=intercept)
    assert (proof is None) == is_separable(X, y, intercept)
    if proof is not None:
        assert proof.holds(X, y)
        assert all(isinstance(v, int) and v > 0 for v in proof.weights)
        sums = combined(proof, X, y)
        assert not any(sums if intercept else sums[:-1])


@given(seed=st.integers(0, 10**6), exponent=st.integers(-200, 200))
def test_scale_does_not_matter(seed, exponent):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 3)), np.where(rng.permutation(20) % 2, 1.0, -1.0)
    X[:, 1] *= 1e-9
    proof, scaled = nonseparability(X, y), nonseparability(np.ldexp(X, exponent), y)
    assert (proof is None) == (scaled is None)
    assert scaled is None or scaled.holds(np.ldexp(X, exponent), y)


def test_a_proof_is_about_every_bit_of_the_data():
    X, y = np.array([[1.0, 2.0], [-3.0, 1.0], [1.0, -7.0]]), np.ones(3)
    y[0] = -1
    X[0] *= -1
    proof = nonseparability(X, y)
    assert proof.holds(X, y)
    assert not proof.holds(np.nextafter(X, np.inf), y)
    assert not proof.holds(X, -y * [1, 1, -1])
    assert not replace(proof, weights=(0,) * len(proof.weights)).holds(X, y)
    assert not Farkas(np.array([], dtype=int), ()).holds(X, y)
    negative = tuple(-v for v in proof.weights)
    assert not replace(proof, weights=negative).holds(X, y)


def test_a_margin_that_is_only_tiny_is_not_denied():
    X, y = np.array([[1.0, 1e-300], [-1.0, 1e-300], [0.0, 1.0]]), np.array([1.0, 1.0, 1.0])
    assert nonseparability(X, y) is None
    assert nonseparability(np.array([[0.1], [0.2], [0.3]]), [1, 1, 1]) is None


def test_an_intercept_separates_more():
    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([-1.0, 1.0, 1.0])
    assert nonseparability(X, y) is not None
    assert nonseparability(X, y, intercept=True) is None


def test_samples_without_a_label_take_no_part(rng):
    X, y = rng.standard_normal((40, 2)), np.where(np.arange(40) % 2, 1.0, -1.0)
    y[:20] = 0
    proof = nonseparability(X, y, intercept=True)
    assert proof.samples.min() >= 20
    assert proof.holds(X, y)


def test_sparse_rows_and_equal_rows(rng):
    X = sp.random_array((60, 5), density=0.5, format="csr", random_state=0)
    y = np.where(rng.permutation(60) % 2, 1.0, -1.0)
    proof = nonseparability(X, y)
    assert proof.holds(X, y)
    assert proof.holds(X.toarray(), y)
    many = rng.standard_normal((30, 500))
    many[7], labels = many[3], np.where(np.arange(30) % 2, 1.0, -1.0)
    labels[7] = -labels[3]
    assert nonseparability(many, labels).samples.tolist() == [3, 7]


@pytest.mark.parametrize("name", ["program", "text"])
def test_the_mixture_of_the_paper_is_not_separable(name):
    data = mp.datasets.gaussian_mixture(name, n_test=0, seed=0)
    assert nonseparability(data.X, data.y, intercept=True).holds(data.X, data.y)
