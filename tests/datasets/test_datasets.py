import gzip
import hashlib
import os
import pickle
import zlib
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from marginpath.datasets import (
    gaussian_mixture,
    load_20newsgroups,
    load_a9a,
    load_htru2,
    load_ijcnn1,
    load_mnist,
    toy,
)
from marginpath.datasets.downloads import SOURCES

SETTINGS = pytest.mark.parametrize("settings", ["text", "program"])


@pytest.fixture(scope="module")
def real():
    """Return a function that loads real data from a data folder, or skips without it."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("MARGINPATH_DATA") or beside)

    def load(name, loader, **options):
        if not (folder / name).is_dir():
            pytest.skip(f"needs {name}: set MARGINPATH_DATA to a data folder")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MARGINPATH_DATA", str(folder))
            return loader(**options)

    load.folder = folder
    return load


@SETTINGS
@pytest.mark.parametrize("seed", range(30))
def test_toy_solution_is_exact(settings, seed):
    data = toy(settings, seed=seed)
    assert data.X.shape == (80, 2)
    assert np.sum(data.y == 1) == np.sum(data.y == -1) == 40
    margins = data.y * (data.X @ [0.5, 0.5])
    on_margin = margins <= 1
    np.testing.assert_array_equal(margins[on_margin], 1)
    support = {tuple(point) for point in data.X[on_margin]}
    assert support == {(0.5, 1.5), (1.5, 0.5), (-0.5, -1.5), (-1.5, -0.5)}
    # Feasible, and a combination of its support vectors with weights 1/8 >= 0: optimal.
    np.testing.assert_array_equal((data.y[:, None] * data.X)[on_margin].sum(axis=0) / 8, 0.5)


@SETTINGS
def test_toy_solution_agrees_with_a_solver(settings):
    data = toy(settings, seed=1)
    Z = data.y[:, None] * data.X
    found = minimize(
        lambda w: w @ w / 2,
        x0=[3.0, 0.0],
        jac=lambda w: w,
        constraints={"type": "ineq", "fun": lambda w: Z @ w - 1, "jac": lambda w: Z},
        method="SLSQP",
    )
    np.testing.assert_allclose(found.x, [0.5, 0.5], atol=1e-8)


def test_toy_program_has_the_law_of_the_program():
    points = np.vstack([toy("program", seed=seed).X[2:40] for seed in range(100)])
    # Standard error of the mean 0.45/√3800 = 0.0073, of the deviation 0.0052.
    np.testing.assert_allclose(points.mean(axis=0), 2, atol=0.03)
    np.testing.assert_allclose(points.std(axis=0), 0.45, atol=0.02)


def test_toy_text_fills_the_square():
    points = np.vstack([toy("text", seed=seed).X for seed in range(100)])
    assert np.abs(points).max() <= 4
    np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], [[-4] * 2, [4] * 2], 0.02)


@SETTINGS
def test_mixture_has_its_means_and_deviation(settings):
    data = gaussian_mixture(settings, n_samples=40_000, n_test=20_000)
    sigma = {"text": np.sqrt(0.4), "program": 0.4}[settings]
    for X, y in ((data.X, data.y), (data.X_test, data.y_test)):
        for label in (-1, 1):
            part = X[y == label]
            assert len(part) == len(X) // 2
            bound = 5 * sigma / np.sqrt(len(part))
            np.testing.assert_allclose(part.mean(axis=0), label / 2, atol=bound)
            np.testing.assert_allclose(np.cov(part.T), sigma**2 * np.eye(2), atol=bound)


def test_mixture_has_the_sizes_of_the_paper_and_a_fresh_test_part():
    data = gaussian_mixture()
    assert data.X.shape == data.X_test.shape == (600, 2)
    assert not np.isin(data.X, data.X_test).any()


def test_training_part_of_the_mixture_does_not_depend_on_the_test_part():
    small, large = gaussian_mixture(n_test=0), gaussian_mixture(n_test=100)
    np.testing.assert_array_equal(small.X, large.X)
    assert small.X_test is None
    assert small.y_test is None


@SETTINGS
@pytest.mark.parametrize("generate", [toy, gaussian_mixture])
def test_seed_decides(generate, settings):
    data = generate(settings, seed=5)
    np.testing.assert_array_equal(data.X, generate(settings, seed=5).X)
    assert np.any(data.X != generate(settings, seed=6).X)


@pytest.mark.parametrize("generate", [toy, gaussian_mixture])
def test_wrong_settings_are_named(generate):
    with pytest.raises(ValueError, match='settings is "paper"; "text" or "program"'):
        generate("paper")


@pytest.mark.parametrize("sizes", [(0, 0), (3, 0), (2, 1), (2, -2)])
def test_wrong_sizes_are_named(sizes):
    with pytest.raises(ValueError, match=f"n_samples is {sizes[0]} and n_test is {sizes[1]}"):
        gaussian_mixture("text", *sizes)


def idx(values):
    values = np.asarray(values, dtype=np.uint8)
    lengths = np.array(values.shape, dtype=">i4").tobytes()
    return gzip.compress(bytes([0, 0, 8, values.ndim]) + lengths + values.tobytes())


@pytest.fixture
def small_mnist(tmp_path, monkeypatch):
    (tmp_path / "mnist").mkdir()
    for part, digits in (("train", [5, 0, 3, 5, 9]), ("t10k", [3, 3, 5])):
        images = np.arange(len(digits) * 6).reshape(-1, 2, 3)
        (tmp_path / f"mnist/{part}-images-idx3-ubyte.gz").write_bytes(idx(images))
        (tmp_path / f"mnist/{part}-labels-idx1-ubyte.gz").write_bytes(idx(digits))
    monkeypatch.setenv("MARGINPATH_DATA", str(tmp_path))
    return tmp_path / "mnist"


def test_mnist_pair_keeps_the_order_of_the_file(small_mnist):
    data = load_mnist(digits=(3, 5), dtype=np.float64)
    np.testing.assert_array_equal(data.y, [1, -1, 1])
    np.testing.assert_array_equal(data.X[:, 0], np.array([0, 12, 18]) / 255)
    np.testing.assert_array_equal(data.y_test, [-1, -1, 1])
    assert data.target_names == ("3", "5")
    np.testing.assert_array_equal(load_mnist(digits=(5, 3)).y, -data.y)


def test_mnist_without_digits_has_all_classes(small_mnist):
    data = load_mnist()
    np.testing.assert_array_equal(data.y, [5, 0, 3, 5, 9])
    assert data.X.shape == (5, 6)
    assert data.X.dtype == np.float32
    assert data.target_names == tuple("0123456789")


@pytest.mark.parametrize("digits", [(3, 3), (3,), (3, 5, 7), (3, 10), (-1, 3)])
def test_wrong_digits_are_named(digits):
    with pytest.raises(ValueError, match="two different digits"):
        load_mnist(digits=digits)


@pytest.mark.parametrize("damage", [lambda c: c[:-20], lambda c: b"x" + c, lambda c: b""])
def test_damaged_file_is_named(small_mnist, damage):
    path = small_mnist / "train-images-idx3-ubyte.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte\.gz.* is not a whole, gzipped"):
        load_mnist()


@pytest.mark.parametrize("fraction", [0, 1, -0.5, np.nan])
def test_wrong_train_fraction_is_named(fraction):
    with pytest.raises(ValueError, match=f"train_fraction is {fraction}"):
        load_htru2(train_fraction=fraction)


def test_real_mnist(real):
    data = real("mnist", load_mnist)
    assert data.X.shape == (60_000, 784)
    assert data.X_test.shape == (10_000, 784)
    assert (data.X.min(), data.X.max()) == (0, 1)
    assert (np.bincount(data.y)[[3, 5]] == [6131, 5421]).all()
    pair = real("mnist", load_mnist, digits=(3, 5))
    np.testing.assert_array_equal(pair.X, data.X[np.isin(data.y, [3, 5])])
    assert pair.X_test.shape == (1902, 784)
    assert np.sum(pair.y == 1) == 5421


def test_real_htru2(real):
    data = real("htru2", load_htru2)
    assert data.X.shape == (12_529, 8)
    X, y = np.vstack([data.X, data.X_test]), np.concatenate([data.y, data.y_test])
    assert X.shape == (17_898, 8)
    assert np.sum(y == 1) == 1639
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0, ddof=1), 1)


def test_real_htru2_is_split_by_the_permutation(real):
    data = real("htru2", load_htru2, standardize=False, train_fraction=0.5, seed=3)
    table = np.loadtxt(real.folder / "htru2" / "HTRU_2.csv", delimiter=",")
    table = table[np.random.default_rng(3).permutation(17_898)]
    np.testing.assert_array_equal(np.vstack([data.X, data.X_test]), table[:, :8])
    np.testing.assert_array_equal(data.y, 2 * table[:8949, 8] - 1)


def test_real_htru2_in_single_precision(real):
    data = real("htru2", load_htru2, dtype=np.float32)
    assert data.X.dtype == data.X_test.dtype == np.float32


def test_real_sparse_sets(real):
    a9a = real("a9a", load_a9a)
    assert (a9a.X.shape, a9a.X_test.shape) == ((32_561, 123), (16_281, 123))
    assert (np.sum(a9a.y == 1), np.sum(a9a.y_test == 1)) == (7841, 3846)
    assert np.unique(a9a.X.data) == 1
    ijcnn1 = real("ijcnn1", load_ijcnn1)
    assert ijcnn1.X.shape == (49_990, 22)
    assert np.sum(ijcnn1.y == 1) == 4853
    assert ijcnn1.X_test is None
    for data in (a9a, ijcnn1):
        np.testing.assert_array_equal(np.unique(data.y), [-1, 1])


def test_real_20newsgroups(real):
    data = real("20news", load_20newsgroups)
    assert (data.X.shape, data.X_test.shape) == ((11_314, 53_659), (7_532, 53_659))
    np.testing.assert_array_equal(np.unique(data.y), np.arange(20))
    assert len(data.target_names) == 20
    assert data.X.min() == 0
    np.testing.assert_array_equal(data.X.data, np.round(data.X.data))
    assert data.X.data.min() == 1


def write_newsgroups(folder):
    """Write a cache of messages as scikit-learn's `fetch_20newsgroups` leaves it in its data folder."""
    texts = {
        "train": ["From: me\n\nTwo rockets, two moons", "From: you\n\nA rocket and two stars", "no header"],
        "test": ["From: me\n\nTwo TWO rockets and"],
    }
    parts = {
        part: Bunch(
            data=messages,
            target=np.arange(len(messages)) % 2,
            target_names=["sci.space", "talk"],
            filenames=np.array(messages),
        )
        for part, messages in texts.items()
    }
    (folder / "20news-bydate_py3.pkz").write_bytes(zlib.compress(pickle.dumps(parts)))


def test_20newsgroups_by_scikit_learn(monkeypatch, tmp_path):
    monkeypatch.delenv("MARGINPATH_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    write_newsgroups(tmp_path)
    data = load_20newsgroups()
    # "two" is the only word in two training messages; "from" was one of the headers.
    assert isinstance(data.X, csr_array)
    np.testing.assert_array_equal(data.X.toarray(), [[2], [1], [0]])
    np.testing.assert_array_equal(data.X_test.toarray(), [[2]])
    np.testing.assert_array_equal(data.y, [0, 1, 0])
    assert data.target_names == ("sci.space", "talk")
    assert data.X.indices.dtype == np.int32


def test_20newsgroups_that_cannot_be_reached(monkeypatch):
    def unreachable(**options):
        raise URLError("no route to host")

    monkeypatch.delenv("MARGINPATH_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", unreachable)
    with pytest.raises(FileNotFoundError, match=r"20news_counts\.npz.*no route to host.*set MARGINPATH_DATA"):
        load_20newsgroups()


@pytest.mark.parametrize("load", [load_a9a, load_ijcnn1, load_20newsgroups])
def test_real_sparse_sets_are_taken_by_compiled_solvers(real, load):
    name = {load_a9a: "a9a", load_ijcnn1: "ijcnn1", load_20newsgroups: "20news"}[load]
    data = real(name, load)
    assert isinstance(data.X, csr_array)
    assert data.X.dtype == np.float64
    rows = np.linspace(0, data.X.shape[0] - 1, 400).astype(int)
    X, y = data.X[rows], data.y[rows]
    assert LinearSVC(C=100).fit(X, y).score(X, y) > 0.8
    LinearSVC(C=1e-3, max_iter=5000).fit(data.X, data.y > 0)


def test_real_files_have_the_published_checksums(real):
    same = [name for name in SOURCES if not name.endswith(".npz")]
    if missing := [name for name in same if not (real.folder / name).is_file()]:
        pytest.skip(f"needs {missing[0]}: set MARGINPATH_DATA to a data folder")
    for name in same:
        content = (real.folder / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == SOURCES[name].sha256, name
