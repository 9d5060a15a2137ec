"""Loaders of real data sets."""

import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from .dataset import Dataset
from .downloads import FOLDER_VARIABLE, find_file, own_file

__all__ = ["load_20newsgroups", "load_a9a", "load_htru2", "load_ijcnn1", "load_mnist"]

_NEWSGROUPS = "20news/20news_counts.npz"


def load_mnist(digits: tuple[int, int] | None = None, *, dtype: DTypeLike = np.float32) -> Dataset:
    """Load MNIST, 60,000 + 10,000 images of 28 × 28 pixels, scaled to [0, 1].

    Parameters
    ----------
    digits : pair of int, or None
        None: all ten digits, y = 0, …, 9. A pair such as (3, 5): these two only, y = -1 for the
        first and +1 for the second.
    dtype : dtype
        Of the pixels.

    Returns
    -------
    Dataset
        Images in the order of the files, not sorted by class.

    Examples
    --------
    >>> load_mnist(digits=(3, 5)).X.shape  # doctest: +SKIP
    (11552, 784)
    """
    if digits is not None and (len(digits) != 2 or len({*digits} & {*range(10)}) != 2):
        raise ValueError(f"digits is {digits}; None or two different digits, 0 to 9, are needed")

    def read(part: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
        pixels = _read_idx(find_file(f"mnist/{part}-images-idx3-ubyte.gz"))
        y = _read_idx(find_file(f"mnist/{part}-labels-idx1-ubyte.gz")).astype(np.int64)
        pixels = pixels.reshape(len(y), -1)
        if digits is not None:
            pixels, y = pixels[np.isin(y, digits)], y[np.isin(y, digits)]
            y = np.where(y == digits[1], 1, -1)
        return np.divide(pixels, 255, dtype=dtype), y

    names = range(10) if digits is None else digits
    return Dataset("MNIST", *read("train"), *read("t10k"), tuple(str(digit) for digit in names))


def load_htru2(
    standardize: bool = True,
    train_fraction: float = 0.7,
    seed: int = 0,
    *,
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """Load HTRU2: 17,898 pulsar candidates with 8 features, y = +1 for the 1,639 pulsars.

    The rows are put into a random order and then cut: the training part, followed by the test
    part, are the rows ``numpy.random.default_rng(seed).permutation(17898)`` of the file.

    Parameters
    ----------
    standardize : bool
        Whether to bring every column to mean 0 and standard deviation 1 (ddof = 1) over all rows,
        those of the test part included, as in the authors' program.
    train_fraction : float
        Share of the rows in the training part, between 0 and 1.
    seed : int
        Passed to `numpy.random.default_rng`.
    dtype : dtype
        Of the features; they are standardized in double precision.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load_htru2().X.shape  # doctest: +SKIP
    (12529, 8)
    """
    if not 0 < train_fraction < 1:
        raise ValueError(f"train_fraction is {train_fraction}; a number between 0 and 1 is needed")
    table = np.loadtxt(find_file("htru2/HTRU_2.csv"), delimiter=",")
    X, y = table[:, :-1], np.where(table[:, -1] == 1, 1, -1)
    if standardize:
        X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order].astype(dtype), y[order]
    cut = round(train_fraction * len(y))
    return Dataset("HTRU2", X[:cut], y[:cut], X[cut:], y[cut:], ("not a pulsar", "pulsar"))


def load_a9a() -> Dataset:
    """Load a9a, the Adult census data: 32,561 + 16,281 sparse rows of 123 binary features.

    Returns
    -------
    Dataset
        `X` and `X_test` are CSR; y = +1 for an income above 50,000 dollars.

    Examples
    --------
    >>> load_a9a().X.shape  # doctest: +SKIP
    (32561, 123)
    """
    from sklearn.datasets import load_svmlight_file

    def read(name: str) -> tuple[Any, NDArray[np.int64]]:
        X, y = load_svmlight_file(str(find_file(name)), n_features=123, zero_based=False)
        return _csr(X.data, X.indices, X.indptr, X.shape), y.astype(np.int64)

    return Dataset("a9a", *read("a9a/a9a"), *read("a9a/a9a.t"), ("<=50K", ">50K"))


def load_ijcnn1() -> Dataset:
    """Load ijcnn1, of the IJCNN 2001 challenge: 49,990 sparse rows of 22 features, no test part.

    Returns
    -------
    Dataset
        `X` is CSR; y = +1 for 4,853 rows.

    Examples
    --------
    >>> load_ijcnn1().X.shape  # doctest: +SKIP
    (49990, 22)
    """
    with np.load(find_file("ijcnn1/ijcnn1.npz")) as file:
        X, y = _csr_of_file(file), file["y"].astype(np.int64)
    return Dataset("ijcnn1", X, y, None, None, ("-1", "+1"))


def load_20newsgroups() -> Dataset:
    """Load 20 Newsgroups, split by date: word counts of 11,314 + 7,532 messages, their headers left out.

    The words are those of two letters or more, in two training messages or more. ``20news/20news_counts.npz``
    is read where the folder of MARGINPATH_DATA has it, with 53,659 words: the CSR arrays `data`, `indices`,
    `indptr` and `shape`, the classes `class20`, the same with the prefix ``test_``, and `names`. Elsewhere
    `sklearn.datasets.fetch_20newsgroups` downloads the messages, or finds them in its own cache; the order of
    its messages is another one, and the number of words may differ.

    Returns
    -------
    Dataset
        `X` and `X_test` are CSR; y = 0, …, 19.

    Raises
    ------
    FileNotFoundError
        If neither has the data; the message tells what happened.

    Examples
    --------
    >>> load_20newsgroups().target_names[0]  # doctest: +SKIP
    'alt.atheism'
    """
    file = own_file(_NEWSGROUPS)
    return _count_words() if file is None else _read_counts(file)


def _read_counts(path: Path) -> Dataset:
    with np.load(path) as file:
        train = _csr_of_file(file), file["class20"].astype(np.int64)
        test = _csr_of_file(file, "test_"), file["test_class20"].astype(np.int64)
        names = tuple(str(name) for name in file["names"])
    return Dataset("20 Newsgroups", *train, *test, names)


def _count_words() -> Dataset:
    from sklearn.datasets import fetch_20newsgroups
    from sklearn.feature_extraction.text import CountVectorizer

    options = {"remove": ("headers",), "shuffle": False}
    try:
        train, test = (fetch_20newsgroups(subset=part, **options) for part in ("train", "test"))
    except OSError as failure:
        raise FileNotFoundError(
            f"20 Newsgroups was not found: {FOLDER_VARIABLE} names no folder with {_NEWSGROUPS}, and "
            f"scikit-learn could not download it ({failure}). Try again when the address can be reached, "
            f"or set {FOLDER_VARIABLE}."
        ) from failure
    words = CountVectorizer(min_df=2).fit(train.data)
    counts = (words.transform(part.data) for part in (train, test))
    X, X_test = (_csr(C.data, C.indices, C.indptr, C.shape) for C in counts)
    y, y_test = (np.asarray(part.target, dtype=np.int64) for part in (train, test))
    return Dataset("20 Newsgroups", X, y, X_test, y_test, tuple(train.target_names))


def _csr_of_file(file: Mapping[str, NDArray[Any]], prefix: str = "") -> Any:
    return _csr(*(file[prefix + key] for key in ("data", "indices", "indptr", "shape")))


def _csr(data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    # Many of scikit-learn's compiled solvers take 32-bit indices only.
    arrays = data.astype(np.float64), indices.astype(np.int32), indptr.astype(np.int32)
    return csr_array(arrays, shape=tuple(shape))


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Read a gzipped file in the IDX format of unsigned bytes."""
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error):
        content = b""
    # Two zero bytes, the type (8: unsigned byte), the number of axes, and their lengths.
    if content[:3] != b"\0\0\x08":
        raise ValueError(
            f'"{path}" is not a whole, gzipped IDX file of unsigned bytes; delete it and load the data again'
        )
    shape = np.frombuffer(content, dtype=">i4", count=content[3], offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * content[3]).reshape(shape)
