import numpy as np
import pytest
import scipy.sparse as sp

import marginpath as mp


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_width_from_one_matrix_of_distances(dtype, rng):
    X = rng.standard_normal((700, 4)).astype(dtype)
    distances = mp.SquaredDistances(X)
    room = np.empty((700, 700), dtype=dtype)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for sigma in (0.3, 2.0):
        exact = mp.Gram.from_kernel(X, mp.Gaussian(sigma))
        for gram in (distances.gram(sigma), distances.gram(sigma, room)):
            assert gram.dtype == dtype
            np.testing.assert_allclose(gram.K, exact.K, rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(gram.cross(X[:3]), exact.cross(X[:3]), rtol=tolerance)
    assert gram.K is room


def test_the_search_is_one_path_a_width():
    data = mp.datasets.gaussian_mixture(n_samples=200, seed=2)
    sigmas = [0.02, 0.5, 2.0]
    search = mp.cross_validate_widths(None, data.X, data.y, sigmas, cv=4)
    for sigma, found in zip(sigmas, search.paths, strict=True):
        alone = mp.cross_validate_path(None, mp.Gram.from_kernel(data.X, mp.Gaussian(sigma)), data.y, cv=4)
        assert found.step == alone.step
        np.testing.assert_allclose(found.u, alone.u, rtol=1e-6, atol=1e-8)
    scores = [found.best_score for found in search.paths]
    assert search.best.best_score == max(scores)
    assert search.kernel.sigma == sigmas[search.index] != 0.02


def test_default_widths_surround_the_scale(rng):
    X = 3 * rng.standard_normal((100, 8)) + 1
    widths = mp.default_widths(X)
    scale = np.sqrt(8 * X.var() / 2)  # gamma="scale" is 1 / (8 var)
    np.testing.assert_allclose(widths[[0, -1]], [0.27 * scale, 12.7 * scale])
    np.testing.assert_allclose(mp.default_widths(sp.csr_array(X)), widths)
    with pytest.raises(ValueError, match="X is constant"):
        mp.default_widths(np.ones((5, 2)))


def test_no_widths():
    data = mp.datasets.gaussian_mixture(n_samples=20)
    with pytest.raises(ValueError, match="at least one width"):
        mp.cross_validate_widths(None, data.X, data.y, [])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_among_some_samples(dtype, rng):
    X, rows = rng.standard_normal((60, 3)).astype(dtype), np.array([3, 7, 8, 41, 59])
    part, alone = mp.SquaredDistances(X).among(rows), mp.SquaredDistances(X[rows])
    assert part.X.tobytes() == X[rows].tobytes()
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(part.gram(0.7).K, alone.gram(0.7).K, rtol=0, atol=tolerance)
    assert part.gram(0.7).fingerprint == alone.gram(0.7).fingerprint
    assert part.gram(0.7).K.flags.c_contiguous
