"""The data of the benchmarks, and smaller parts of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logsumexp
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfTransformer

from marginpath import datasets
from marginpath.datasets import Dataset
from marginpath.datasets.downloads import own_file

#: Samples of the data that contestants warm up on.
SMALL = 240
#: The same where ours has compiled loops for larger data only.
NOT_SO_SMALL = 2400
#: Samples of a quick benchmark.
QUICK = 480

_FEATURES = 1000  # of a part with sparse features
_COLUMNS, _CENTRES, _SPREAD = 20, 8, 0.7  # of the mixture: of a row, for each class, and how far apart
_TEST_ROWS = 20_000


def part(data: Dataset, n: int, seed: int = 0) -> Dataset:
    """Return a random part of at most n training samples, every class in proportion, and n test samples.

    Of sparse features the most frequent ones are left: with few samples, most words are nowhere.

    Examples
    --------
    >>> smaller = part(datasets.toy(), 10)
    >>> smaller.X.shape, int(smaller.y.sum())
    ((10, 2), 0)
    """
    if n >= len(data.y):
        return data
    order = np.random.default_rng(seed).permutation(len(data.y))
    rank = np.empty(len(order))
    for label in np.unique(data.y):
        own = np.flatnonzero(data.y[order] == label)
        rank[own] = (np.arange(len(own)) + 0.5) / len(own)
    keep = order[np.argsort(rank, kind="stable")[:n]]
    X, X_test = data.X[keep], None if data.X_test is None else data.X_test[:n]
    if sp.issparse(X) and X.shape[1] > _FEATURES:
        frequent = np.sort(np.argsort(-X.count_nonzero(axis=0), kind="stable")[:_FEATURES])
        X, X_test = X[:, frequent], None if X_test is None else X_test[:, frequent]
    y_test = None if data.y_test is None else data.y_test[:n]
    return replace(data, X=X, y=data.y[keep], X_test=X_test, y_test=y_test)


def sized(data: Dataset, quick: bool) -> Dataset:
    """Return the data, or a part of them for a quick benchmark."""
    return part(data, QUICK) if quick else data


def title(data: Dataset, extra: str = "") -> str:
    """Return the name of the data and their size."""
    return f"{data.name}{extra}, n = {data.X.shape[0]:,}"


def mnist(first: int, second: int) -> Dataset:
    """Return two digits of MNIST, float32, pixels between 0 and 1."""
    return replace(datasets.load_mnist((first, second)), name=f"MNIST {first} vs {second}")


def parity() -> Dataset:
    """Return all of MNIST, odd digits against even ones."""
    data = datasets.load_mnist()
    assert data.y_test is not None
    y, y_test = (np.where(y % 2 == 1, 1, -1) for y in (data.y, data.y_test))
    return replace(data, name="MNIST odd vs even", y=y, y_test=y_test)


def ijcnn1() -> Dataset:
    """Return ijcnn1 as a dense float32 array: of its 22 features, 13 are not zero."""
    data = datasets.load_ijcnn1()
    return replace(data, X=data.X.toarray().astype(np.float32))


def held_out(data: Dataset, share: float = 0.1, seed: int = 0) -> Dataset:
    """Return the data with a share of the rows, drawn at random, as their test part.

    Examples
    --------
    >>> data = held_out(datasets.toy())
    >>> data.X.shape, data.X_test.shape
    ((72, 2), (8, 2))
    """
    order = np.random.default_rng(seed).permutation(len(data.y))
    test, train = np.split(order, [int(share * len(order))])
    return replace(data, X=data.X[train], y=data.y[train], X_test=data.X[test], y_test=data.y[test])


def newsgroups() -> Dataset:
    """Return 20 Newsgroups, weighted by tf-idf with logarithmic counts."""
    data = datasets.load_20newsgroups()
    weights = TfidfTransformer(sublinear_tf=True).fit(data.X)
    X, X_test = (sp.csr_array(weights.transform(X)) for X in (data.X, data.X_test))
    return replace(data, X=X, X_test=X_test)


def a9a() -> Dataset:
    """Return a9a."""
    return datasets.load_a9a()


def mixture(n: int, seed: int = 0) -> Dataset:
    """Return n made rows of 20 columns: each class is eight Gaussians of variance 1, all equally likely.

    Examples
    --------
    >>> data = mixture(100)
    >>> data.X.shape, data.X_test.shape
    ((100, 20), (20000, 20))
    """
    rng = np.random.default_rng(seed)
    (X, y), (X_test, y_test) = (_drawn(size, rng) for size in (n, _TEST_ROWS))
    return Dataset("made rows", X, y, X_test, y_test, ("-1", "+1"))


def many_columns(n: int) -> Dataset:
    """Return n made rows of 1,000 columns, of which fifty tell the classes apart, one label in twenty wrong.

    Examples
    --------
    >>> many_columns(100).X.shape
    (100, 1000)
    """
    X, y = make_classification(
        n + 5000, 1000, n_informative=50, n_redundant=0, flip_y=0.1, class_sep=2.0, random_state=0
    )
    X = (X / X.std(axis=0)).astype(np.float32)
    return Dataset("many columns", X[:n], y[:n], X[n:], y[n:], ("0", "1"))


def made_part(number: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows of the mixture and their labels, for each number others: rows that are made in parts.

    Examples
    --------
    >>> X, y = made_part(3, 10)
    >>> X.shape, y.shape
    ((10, 20), (10,))
    """
    return _drawn(n, np.random.default_rng([1, number]))


def mixture_error(X: np.ndarray) -> float:
    """Return the least error that any classifier of the mixture can expect on these rows of it.

    Examples
    --------
    >>> round(mixture_error(mixture(1).X_test), 2)
    0.09
    """
    squares = (X**2).sum(axis=1)[:, None] - 2 * X @ _centres().T + (_centres() ** 2).sum(axis=1)
    first, second = (logsumexp(-part / 2, axis=1) for part in np.hsplit(squares, 2))
    return float(np.mean(expit(-np.abs(first - second))))


def _centres() -> np.ndarray:
    """Return the centres of the mixture, those of the class −1 first: the same for every draw."""
    return _SPREAD * np.random.default_rng(7).standard_normal((2 * _CENTRES, _COLUMNS))


def _drawn(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    centre = rng.integers(0, 2 * _CENTRES, n)
    X = rng.standard_normal((n, _COLUMNS), dtype=np.float32)
    X += _centres().astype(np.float32)[centre]
    return X, np.where(centre < _CENTRES, -1, 1)


def table(name: str) -> Dataset:
    """Return a set that the folder of MARGINPATH_DATA has as more/NAME.npz, with the arrays X and y.

    Raises
    ------
    FileNotFoundError
        Where the folder has no such file.
    """
    file = own_file(f"more/{name}.npz")
    if file is None:
        raise FileNotFoundError(
            f"{name} is read from more/{name}.npz, with the arrays X and y, in the folder that the variable "
            f"MARGINPATH_DATA names; there is no such file."
        )
    with np.load(file) as stored:
        return Dataset(name, stored["X"], stored["y"], None, None, ())


def with_constant(X: sp.csr_array) -> sp.csr_array:
    """Append a constant feature: the intercept of a linear classifier, penalized as LinearSVC does."""
    return sp.csr_array(sp.hstack([X, np.ones((X.shape[0], 1), dtype=X.dtype)], format="csr"))
