import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise

import marginpath as mp
from marginpath.kernels.centred import CentredLinear


@pytest.mark.parametrize(
    ("kernel", "peer"),
    [
        (mp.Gaussian(0.7), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=1 / (2 * 0.7**2))),
        (mp.Laplacian(2.0), lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=0.5)),
        (
            mp.Polynomial(4, gamma=0.3, coef0=2.0),
            lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=4, gamma=0.3, coef0=2.0),
        ),
        (mp.Linear(), pairwise.linear_kernel),
        (mp.Cosine(), pairwise.cosine_similarity),
    ],
)
def test_kernels_are_scikit_learns(kernel, peer, rng):
    X, Z = rng.standard_normal((9, 4)), rng.standard_normal((5, 4))
    X[2] = 0
    np.testing.assert_allclose(kernel(X, Z), peer(X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(peer(X, X)), rtol=1e-12)
    before = X.copy(), Z.copy()
    kernel(X, Z)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Z, before[1])


def test_gaussian_keeps_its_digits_far_from_the_origin(rng):
    X = rng.standard_normal((50, 3)).astype(np.float32)
    near, far = mp.Gaussian(1.0)(X), mp.Gaussian(1.0)(X + np.float32(1024))
    np.testing.assert_allclose(far, near, atol=1e-3)


def test_gaussian_never_exceeds_one(rng):
    X = np.repeat(rng.standard_normal((20, 5)), 3, axis=0)
    assert mp.Gaussian(1e-3)(X).max() <= 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: mp.Gaussian(0.0),
        lambda: mp.Gaussian(-1.0),
        lambda: mp.Gaussian(float("nan")),
        lambda: mp.Laplacian(float("inf")),
        lambda: mp.Polynomial(0),
        lambda: mp.Polynomial(2.5),
        lambda: mp.Polynomial(2, gamma=0.0),
        lambda: mp.Polynomial(2, coef0=-1.0),
    ],
)
def test_bad_parameters(make):
    with pytest.raises(ValueError, match=r"must be .*, got"):
        make()


def test_a_kernel_of_your_own_may_return_a_new_array(rng):
    class Squared(mp.kernels.ProductKernel):
        def apply(self, block):
            return block**2

    X = rng.standard_normal((300, 3))
    np.testing.assert_allclose(mp.Gram.from_kernel(X, Squared()).K, (X @ X.T) ** 2)


def test_features_that_are_the_same_everywhere_change_nothing(rng):
    X = rng.standard_normal((500, 6))
    X[:, [0, 3]] = 0.0, 7.0
    kernel = mp.Gaussian(1.3)
    np.testing.assert_allclose(mp.Gram.from_kernel(X, kernel).K, kernel(X), rtol=1e-12)
    np.testing.assert_array_equal(mp.Gram.from_kernel(X[:, [0, 3]], mp.Linear()).K, np.full((500, 500), 49.0))


@pytest.mark.parametrize(
    "kernel", [mp.Linear(), mp.Gaussian(2.0), mp.Laplacian(2.0), mp.Polynomial(2, 0.5, 1.0), mp.Cosine()]
)
def test_one_side_may_be_sparse(kernel, rng):
    X, Z = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    for left, right in ((sp.csr_array(X), Z), (X, sp.csr_array(Z))):
        np.testing.assert_allclose(kernel(left, right), kernel(X, Z), rtol=1e-12)


def test_a_centred_kernel_is_that_of_the_differences(rng):
    X, Z, centre = rng.standard_normal((6, 3)), rng.standard_normal((4, 3)), np.array([1.0, 2.0, 3.0])
    kernel = CentredLinear(centre)
    np.testing.assert_allclose(kernel(X, Z), (X - centre) @ (Z - centre).T)
    np.testing.assert_allclose(kernel(sp.csr_array(X), Z), kernel(X, Z))
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(kernel(X)))
