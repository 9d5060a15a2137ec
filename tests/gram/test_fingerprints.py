"""Fingerprints: every bit of the data counts, and how they are stored does not."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from naive import far_apart

import marginpath as mp
from marginpath.gram.device import DeviceTiledGram
from marginpath.gram.fingerprints import row_codes

KERNEL = mp.Gaussian(1.5)
SOLVER = mp.DualDescent(mp.PowerDecay(1.0))
GRAMS = {
    "stored": lambda X: mp.Gram.from_kernel(X, KERNEL),
    "tiled": lambda X: mp.TiledGram(X, KERNEL),
    "device": lambda X: DeviceTiledGram(array_api_strict.asarray(X), KERNEL, rows=30),
    "width": lambda X: mp.SquaredDistances(X).gram(KERNEL.sigma),
    "function": lambda X: mp.Gram.from_kernel(X, lambda A, B: (1 + A @ B.T) ** 2),
    "linear": mp.Gram.linear,
    "sparse": lambda X: mp.Gram.linear(sp.csr_array(X)),
    "matrix": lambda X: mp.Gram.from_matrix(X @ X.T),
}


def samples(n=200, d=5):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), rng.choice([-1, 1], n)


@pytest.mark.parametrize("name", GRAMS)
def test_a_path_is_refused_on_other_samples(name):
    X, other, y = far_apart()
    path = mp.run(SOLVER, mp.Problem(GRAMS[name](X), y), 3)
    assert mp.resume(path, mp.Problem(GRAMS[name](X.copy()), y), 2).last.t == 5
    with pytest.raises(ValueError, match="another problem: the samples or the kernel matrix"):
        mp.resume(path, mp.Problem(GRAMS[name](other), y), 2)


@pytest.mark.parametrize("name", ["stored", "tiled", "device", "width", "linear", "sparse"])
def test_the_last_bit_of_one_number_counts(name):
    X, y = samples()
    before = mp.Problem(GRAMS[name](X), y).fingerprint()
    X[101, 3] = np.nextafter(X[101, 3], np.inf)
    assert mp.Problem(GRAMS[name](X), y).fingerprint() != before


def test_storage_makes_no_difference():
    X, _ = samples()
    X[np.abs(X) < 0.5] = 0
    grams = [GRAMS[name](X) for name in ("stored", "tiled", "device", "width")]
    grams += [mp.Gram.from_kernel(Z, KERNEL) for Z in (sp.csr_matrix(X), np.asfortranarray(X), X[::-1][::-1])]
    assert all(gram.fingerprint == grams[0].fingerprint for gram in grams)
    linear = [mp.Gram.linear(X), mp.Gram.linear(sp.csr_array(X)), mp.Gram.from_kernel(X, mp.Linear())]
    assert all(gram.fingerprint == linear[0].fingerprint for gram in linear)
    assert linear[0].fingerprint["data"] == grams[0].fingerprint["data"]


def test_a_path_goes_on_in_another_storage():
    X, y = samples()
    stored, tiled = (mp.Problem(GRAMS[name](X), y) for name in ("stored", "tiled"))
    longer = mp.resume(mp.run(SOLVER, stored, 5), tiled, 5)
    np.testing.assert_allclose(longer.last.u, mp.run(SOLVER, stored, 10).last.u, rtol=1e-9, atol=1e-12)
    single = mp.Problem(GRAMS["tiled"](X.astype(np.float32)), y)
    with pytest.raises(ValueError, match="another problem: the dtype"):
        mp.resume(longer, single, 5)


def test_the_settings_of_the_kernel_count():
    X, _ = samples(20)
    same = [mp.Gaussian(1.5), mp.Gaussian(np.float64(1.5)), mp.Gaussian(np.float32(1.5))]
    others = [mp.Gaussian(1.5000001), mp.Laplacian(1.5), mp.Cosine(), mp.Polynomial(2), mp.Polynomial(2, 1.5)]
    names = [mp.TiledGram(X, kernel).fingerprint["kernel"] for kernel in (*same, *others)]
    assert len(set(names[:3])) == 1
    assert len(set(names)) == 1 + len(others)


def test_of_a_function_a_few_rows_are_compared():
    X, y = samples(30)

    def problem(degree):
        return mp.Problem(mp.TiledGram(X, lambda A, B: (1 + A @ B.T) ** degree), y)

    path = mp.run(SOLVER, problem(2), 3)
    assert mp.resume(path, problem(2), 1).last.t == 4
    with pytest.raises(ValueError, match="another problem: the values of the kernel differ"):
        mp.resume(path, problem(3), 1)


def test_a_gram_matrix_of_one_s_own_is_told_by_a_few_rows():
    class Own(mp.gram.DenseGram):
        fingerprint = mp.Gram.fingerprint

    X, y = samples(30)
    path = mp.run(SOLVER, mp.Problem(Own(X @ X.T), y), 3)
    assert mp.resume(path, mp.Problem(Own(X @ X.T), y), 1).last.t == 4
    with pytest.raises(ValueError, match="another problem: the values of the kernel differ"):
        mp.resume(path, mp.Problem(Own(1.01 * X @ X.T), y), 1)


@given(
    X=arrays(np.float64, (6, 4), elements=st.sampled_from([-1.0, 0.0, 1.0, 2.0])),
    Z=arrays(np.float64, (6, 4), elements=st.sampled_from([-1.0, 0.0, 1.0, 2.0])),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_rows_share_a_code_exactly_where_they_are_equal(X, Z, dtype):
    X, Z = X.astype(dtype), Z.astype(dtype)
    np.testing.assert_array_equal(row_codes(X) == row_codes(Z), (X == Z).all(axis=1))
    np.testing.assert_array_equal(row_codes(sp.csr_array(X)), row_codes(X))


def test_sparse_rows_have_one_code_however_they_are_written():
    rows = sp.csr_array((np.array([2.0, 0.0, 1.0, 1.0]), [3, 0, 1, 1], [0, 0, 4]), shape=(2, 4))
    before = rows.data.copy(), rows.indices.copy()
    np.testing.assert_array_equal(row_codes(rows), row_codes(np.array([[0.0] * 4, [0.0, 2.0, 0.0, 2.0]])))
    np.testing.assert_array_equal(rows.data, before[0])
    np.testing.assert_array_equal(rows.indices, before[1])


def test_the_fingerprint_is_computed_once(monkeypatch):
    X, y = samples(20)
    gram = GRAMS["stored"](X)
    path = mp.run(SOLVER, mp.Problem(gram, y), 2)
    monkeypatch.setattr("marginpath.gram.dense.row_codes", None)
    assert mp.resume(path, mp.Problem(gram, y), 2).last.t == 4


@pytest.mark.heavy
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gpu_gives_the_same_codes(dtype):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    X = samples(1000, 70)[0].astype(dtype)
    there = torch.asarray(X, device="cuda")
    np.testing.assert_array_equal(row_codes(there), row_codes(X))
    np.testing.assert_array_equal(row_codes(there[::2, 1:]), row_codes(X[::2, 1:]))
