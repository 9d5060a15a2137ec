"""The same code on a GPU: by default on array-api-strict; heavy tests on torch, and on CUDA where it is."""

import logging
import sys
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest

import marginpath as mp
from marginpath.arrays import to_numpy
from marginpath.gram import choose as placement
from marginpath.gram import fused
from marginpath.gram.choose import choose_gram, with_gram
from marginpath.gram.device import DeviceTiledGram
from marginpath.gram.filling import matrix_bytes
from marginpath.gram.gpu import is_out_of_memory, on_gpu, torch_device
from marginpath.gram.precision import LADDER, PRECISIONS, as_precision
from marginpath.kernels.functions import Biased
from marginpath.validation.columns import OneVsRest
from marginpath.validation.cross_validation import PathValidation
from marginpath.validation.folds import HeldOut

KERNELS = [
    mp.Gaussian(0.8),
    Biased(mp.Gaussian(0.8), 2.0),
    mp.Polynomial(2, coef0=1.0),
    mp.Laplacian(1.5),
    lambda A, B: (A @ B.T) ** 2,
]
SOLVER = mp.DualDescent(mp.GeometricDecay(40.0, 1.1), mp.Inertia(3))


def strict(x):
    return array_api_strict.asarray(np.asarray(x))


def tensor(x):
    return pytest.importorskip("torch").asarray(np.asarray(x))


def cuda(x):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return torch.asarray(np.asarray(x), device="cuda")


def parallel(x):
    return pytest.importorskip("cupy").asarray(np.asarray(x))


HEAVY = [pytest.param(f, marks=pytest.mark.heavy) for f in (tensor, cuda, parallel)]
LIBRARIES = [strict, *HEAVY]
TORCH = HEAVY[:2]


@pytest.mark.parametrize("asarray", LIBRARIES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rows", [None, 13])
def test_tiles_are_the_stored_matrix(asarray, kernel, rows, rng):
    X, V = rng.standard_normal((40, 3)), rng.standard_normal((40, 4))
    stored = mp.Gram.from_kernel(X, kernel)
    tiles = DeviceTiledGram(asarray(X), kernel, rows=rows, room=1000)
    assert tiles.shape == (40, 40)
    for found, expected in (
        (tiles @ asarray(V), stored @ V),
        (tiles @ asarray(V[:, 0]), stored @ V[:, 0]),
        (tiles.accurate_product(asarray(V)), stored @ V),
        (tiles.rows([3, 1]), stored.rows([3, 1])),
        (tiles.diagonal, stored.diagonal),
        (tiles.cross(asarray(X[:5])) @ asarray(V), stored.cross(X[:5]) @ V),
    ):
        assert type(found) is type(asarray(V))
        np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(tiles.norm_bounds(), stored.norm_bounds(), rtol=1e-6)
    with pytest.raises(ValueError, match="Z has 2 columns, but 3 features"):
        tiles.cross(asarray(X[:, :2]))


def classes(rng, n_classes, n=90):
    y = rng.integers(0, n_classes, n)
    X = rng.standard_normal((n, 4))
    X[np.arange(n), y] += 1.5
    return X, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("asarray", LIBRARIES)
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "ovr"), (3, "ovr"), (3, "ovo")])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
@pytest.mark.parametrize("stored", [True, pytest.param(False, marks=pytest.mark.heavy)])
def test_cross_validation_is_that_of_numpy(asarray, n_classes, multi_class, scoring, stored, rng):
    X, y = classes(rng, n_classes)
    settings = {"scoring": scoring, "steps": 40, "sample_weight": rng.integers(1, 4, 90)}
    settings["multi_class"] = multi_class
    expected = mp.cross_validate_path(SOLVER, mp.Gram.from_kernel(X, mp.Gaussian(1.0)), y, **settings)
    make = mp.Gram.from_kernel if stored else DeviceTiledGram
    found = mp.cross_validate_path(SOLVER, make(asarray(X), mp.Gaussian(1.0)), y, **settings)
    np.testing.assert_allclose(found.split_scores, expected.split_scores, rtol=1e-12)
    assert found.step == expected.step
    assert type(found.u) is type(found.out_of_fold) is np.ndarray
    np.testing.assert_allclose(found.u, expected.u, rtol=1e-9, atol=1e-11)
    rtol = 1e-9 if multi_class == "ovr" else 1e-5  # NumPy keeps those of pairs in float32
    np.testing.assert_allclose(found.out_of_fold, expected.out_of_fold, rtol=rtol, atol=1e-11)


def test_folds_may_overlap_and_leave_samples_out(rng):
    X, y = classes(rng, 3)
    splits = [(np.arange(30, 90), np.arange(30)), (np.r_[0:20, 50:90], np.arange(20, 50))]
    gram = mp.Gram.from_kernel(strict(X), mp.Gaussian(1.0))
    validation = PathValidation(gram, y, cv=splits)
    path = validation.run(SOLVER, 5, stop=None)
    found = validation.choose(path)
    assert np.isnan(found.out_of_fold[50:]).all()
    assert np.isfinite(found.out_of_fold[:50]).all()
    scores = to_numpy(path.last.scores).reshape(90, 3, 3)
    held = HeldOut([s[1] for s in splits], np.zeros(90, dtype=int), OneVsRest(3), None, path.last.scores)
    last = np.where(np.arange(90) < 20, 0, 1)
    expected = -scores[np.arange(90), :, last]
    np.testing.assert_allclose(to_numpy(held.decisions(path.last.scores))[:50], expected[:50])


def test_the_choice_follows_the_memory_and_is_told(rng, caplog, monkeypatch):
    X = rng.standard_normal((100, 3))
    caplog.set_level(logging.INFO, logger="marginpath")
    kinds = {}
    for memory in (80_000, 79_999):
        kinds[memory] = type(choose_gram(X, "rbf", memory=memory, sigma=1.0)).__name__
    assert kinds == {80_000: "DenseGram", 79_999: "TiledGram"}
    monkeypatch.setattr(placement, "on_gpu", lambda X: True)
    assert isinstance(choose_gram(strict(X), mp.Gaussian(1.0), memory=79_999), DeviceTiledGram)
    told = [record.message for record in caplog.records]
    assert "100 samples is stored: its 7.45e-05 GiB are in the 7.45e-05 GiB at hand" in told[0]
    assert "100 samples is in tiles: its 7.45e-05 GiB are over the 7.45e-05 GiB at hand" in told[1]


def test_memory_that_runs_out_leads_to_tiles_once(rng, monkeypatch, caplog):
    X = rng.standard_normal((50, 3))

    def full(*args, **kwargs):
        raise MemoryError("full")

    with monkeypatch.context() as patch:
        patch.setattr(mp.Gram, "from_kernel", full)
        assert isinstance(choose_gram(X, mp.Gaussian(1.0)), mp.TiledGram)
        patch.setattr(mp.Gram, "from_kernel", lambda *args, **kwargs: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            choose_gram(X, mp.Gaussian(1.0))
    seen = []

    def work(gram):
        seen.append(type(gram).__name__)
        if len(seen) == 1:
            raise MemoryError("full")
        return mp.run(SOLVER, mp.Problem(gram, np.sign(X[:, 0])), 3)

    assert with_gram(X, mp.Gaussian(1.0), work, memory=30_000).last.t == 3
    assert seen == ["DenseGram", "TiledGram"]
    assert "once more with tiles" in caplog.text
    with pytest.raises(MemoryError, match="and with tiles too"):
        with_gram(X, mp.Gaussian(1.0), full)


def test_tiles_that_do_not_fit_say_what_to_change(rng, monkeypatch):
    tiles = DeviceTiledGram(strict(rng.standard_normal((5, 2))), mp.Gaussian(1.0))

    class OutOfMemoryError(RuntimeError):
        pass

    def full(*args):
        raise OutOfMemoryError

    monkeypatch.setattr(tiles._tiles, "multiply", full)
    with pytest.raises(MemoryError, match=r"Tiles of 5 samples and 1 columns .* smaller rows="):
        tiles @ strict(np.ones(5))
    assert is_out_of_memory(OutOfMemoryError())
    assert not is_out_of_memory(ValueError())


def test_what_is_not_finite_is_repeated_in_higher_precision(rng):
    X = rng.standard_normal((20, 2)).astype(np.float32)
    seen = []

    def work(gram):
        seen.append(gram.dtype)
        value = np.array([1.0 if gram.dtype == np.float64 else np.nan])
        return SimpleNamespace(last=SimpleNamespace(u=value, scores=value))

    with pytest.warns(UserWarning, match="not finite in precision float32; it is run again in float64"):
        with_gram(X, mp.Gaussian(1.0), work)
    assert seen == [np.float32, np.float64]
    broken = SimpleNamespace(last=SimpleNamespace(u=np.array([np.inf]), scores=np.array([0.0])))
    with pytest.raises(FloatingPointError, match="the finest precision there is"):
        with_gram(X.astype(np.float64), mp.Gaussian(1.0), lambda gram: broken)


def test_precisions_are_refused_where_they_mean_nothing(rng, monkeypatch):
    X = rng.standard_normal((5, 2))
    for make in (mp.Gram.from_kernel, choose_gram, DeviceTiledGram):
        with pytest.raises(ValueError, match=r"precision='tf32' is for torch tensors on a GPU, and X is a"):
            make(X, mp.Gaussian(1.0), precision="tf32")
    with pytest.raises(ValueError, match=r"None, 'float32', 'tf32', 'bfloat16', got 'half'"):
        as_precision("half", X)
    assert tuple(name for name in PRECISIONS if name) == tuple(reversed(LADDER[:-1]))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"on device='cuda' need torch.*\[torch\]\"\. Leave device=None"):
        choose_gram(X, mp.Gaussian(1.0), device="cuda")


def test_sweeps_say_that_they_need_numpy(rng):
    gram = mp.Gram.from_kernel(strict(rng.standard_normal((5, 2))), mp.Gaussian(1.0))
    with pytest.raises(TypeError, match=r"CoordinateDescent works on NumPy arrays.*Use DualDescent"):
        mp.run(mp.CoordinateDescent(), mp.Problem(gram, [1, 1, -1, -1, 1]), 1)


def test_sizes_of_matrices():
    assert [matrix_bytes(10, d) for d in ("torch.bfloat16", "float32", np.float64)] == [200, 400, 800]
    assert not on_gpu(np.ones(3))
    assert not on_gpu(None)


@pytest.mark.heavy
def test_a_missing_gpu_is_told():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match=r"device='cuda', but torch .* sees no GPU"):
        torch_device("cuda")


@pytest.mark.parametrize("asarray", TORCH)
@pytest.mark.parametrize("name", ["float32", "tf32", "bfloat16"])
@pytest.mark.parametrize("k", [None, 1, 60, 70])
def test_precisions_keep_their_promise(asarray, name, k, rng):
    X = rng.standard_normal((301, 5))
    V = rng.standard_normal((301,) if k is None else (301, k)).astype(np.float32)
    exact = mp.Gram.from_kernel(X, mp.Gaussian(1.5))
    gram = mp.Gram.from_kernel(asarray(X), mp.Gaussian(1.5), precision=name)
    error = np.abs(to_numpy(gram @ asarray(V)) - exact @ V.astype(np.float64))
    assert str(gram.dtype) == str((gram @ asarray(V)).dtype) == "torch.float32"
    assert np.all(error <= (gram.product_rounding + 1e-5) * np.abs(V).sum(axis=0))
    assert np.max(error) > 0
    entries = np.abs(to_numpy(gram.rows([3, 300])) - exact.rows([3, 300]))
    assert np.all(entries <= gram.rounding + 1e-5)
    lower, upper = gram.norm_bounds()
    assert lower * 0.999 < exact.norm_bounds()[1]
    assert upper * 1.001 > exact.norm_bounds()[0]
    V = V.reshape(301, -1).astype(np.float64)
    product, bound = gram.product_with_error(V)
    assert np.all(np.abs(product - exact @ V) <= bound + 1e-5 * np.abs(V).sum(axis=0))


@pytest.mark.parametrize("asarray", TORCH)
def test_a_certificate_says_where_bfloat16_limits_it(asarray, recwarn, rng):
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    exact = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.3)), y)
    u = mp.run(mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3)), exact, 2000).last.u
    lower, upper = mp.margin_bounds(exact, u)
    for name in ("float32", "tf32"):
        problem = mp.Problem(mp.Gram.from_kernel(asarray(X), mp.Gaussian(0.3), precision=name), y)
        low, high = (float(b) for b in mp.margin_bounds(problem, asarray(u.astype(np.float32))))
        assert low - 1e-5 <= lower <= upper <= high + 1e-5
    assert not recwarn
    problem = mp.Problem(mp.Gram.from_kernel(asarray(X), mp.Gaussian(0.3), precision="bfloat16"), y)
    with pytest.warns(UserWarning, match="precision of the stored kernel matrix limits this certificate"):
        low, high = (float(b) for b in mp.margin_bounds(problem, asarray(u.astype(np.float32))))
    assert low <= lower <= upper <= high


@pytest.mark.parametrize("asarray", TORCH)
@pytest.mark.parametrize("name", ["float32", "tf32", "bfloat16"])
def test_models_of_all_precisions_are_alike(asarray, name, rng):
    X, y = classes(rng, 3, 400)
    settings = {"steps": 60, "growth": 1e9}
    expected = mp.cross_validate_path(SOLVER, mp.Gram.from_kernel(X, mp.Gaussian(1.0)), y, **settings)

    def work(gram):
        return mp.cross_validate_path(SOLVER, gram, y, **settings)

    found = with_gram(asarray(X), mp.Gaussian(1.0), work, precision=name)
    assert abs(found.best_score - expected.best_score) < 0.02
    np.testing.assert_allclose(found.split_scores, expected.split_scores, atol=0.05)


@pytest.mark.parametrize("asarray", TORCH)
@pytest.mark.parametrize("name", ["float32", "tf32", "bfloat16"])
@pytest.mark.parametrize("constant", [0.0, 0.5])
def test_features_of_landmarks_are_what_they_are_in_any_precision(asarray, name, constant, rng):
    X, V = rng.standard_normal((500, 4)).astype(np.float32), rng.standard_normal((500, 7)).astype(np.float32)
    settings = {"landmarks": 60, "seed": 3, "constant": constant}
    gram = choose_gram(asarray(X), mp.Gaussian(1.5), precision=name, **settings)
    F = to_numpy(gram.features.float()).astype(np.float64)
    expected = choose_gram(X, mp.Gaussian(1.5), **settings)
    assert (str(gram.dtype), gram.features.dtype.itemsize) == (
        "torch.float32",
        2 if name == "bfloat16" else 4,
    )
    np.testing.assert_array_equal(gram.chosen, expected.chosen)
    width = expected.features.shape[1]
    assert F.shape[1] % 8 == 0
    assert not F[:, width:].any()
    # Products of numbers that are rounded, each of the two sides, and the rounding of what is stored.
    reach = np.abs(mp.Gaussian(1.5)(X, X[gram.chosen])) @ np.abs(expected.root)
    off = (2.0**-18 if name == "float32" else 2.0**-10) * np.pad(reach, ((0, 0), (0, width - reach.shape[1])))
    off += 2.0**-8 * np.abs(expected.features) if name == "bfloat16" else 1e-6
    assert np.all(np.abs(F[:, :width] - expected.features) <= off)
    assert abs(gram.trace_error - expected.trace_error) < 1e-2
    np.testing.assert_allclose(to_numpy(gram.diagonal), (F**2).sum(axis=1), rtol=1e-5)
    for columns in (V, V[:, 0]):
        found = gram @ asarray(columns)
        assert str(found.dtype) == "torch.float32"
        np.testing.assert_allclose(to_numpy(found), F @ (F.T @ columns), rtol=0, atol=2e-2)
    lower, upper = gram.norm_bounds()
    assert lower <= np.linalg.norm(F, 2) ** 2 * (1 + 1e-4)
    assert upper >= np.linalg.norm(F, 2) ** 2 * (1 - 1e-4)


@pytest.mark.parametrize("asarray", LIBRARIES)
def test_landmarks_know_what_was_multiplied_last_and_nothing_else(asarray, rng):
    X, V, other = (rng.standard_normal((40, 3)).astype(np.float32) for _ in range(3))
    gram = mp.Gram.landmarks(asarray(X), mp.Gaussian(1.5), 12)
    some = np.array([2, 0])
    before = to_numpy(gram.on_landmarks(asarray(V), some))
    gram @ asarray(V)
    np.testing.assert_array_equal(to_numpy(gram.on_landmarks(asarray(V), some)), before)
    gram @ asarray(other)
    np.testing.assert_array_equal(to_numpy(gram.on_landmarks(asarray(V), some)), before)


@pytest.mark.parametrize("place", ["cpu", "cuda"])
@pytest.mark.heavy
def test_samples_in_main_memory_are_streamed(place, rng):
    if place == "cuda":
        cuda(0)
    torch = pytest.importorskip("torch")
    X, V = rng.standard_normal((100, 3)).astype(np.float32), rng.standard_normal((100, 4)).astype(np.float32)
    stored = mp.Gram.from_kernel(X, mp.Gaussian(1.0))
    for gram in (
        choose_gram(X, mp.Gaussian(1.0), device=place),
        choose_gram(X, mp.Gaussian(1.0), device=place, memory=3000),
    ):
        found = gram @ torch.asarray(V, device=place)
        assert found.device.type == place
        np.testing.assert_allclose(to_numpy(found), stored @ V, rtol=1e-4, atol=1e-4)
    assert gram.rows_at_a_time < 100


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["tf32", "bfloat16"])
@pytest.mark.parametrize(("n", "d"), [(5, 3), (300, 100), (1500, 784)])
@pytest.mark.parametrize("k", [1, 20, 70])
def test_fused_products_are_those_of_rounded_samples(name, n, d, k, rng):
    X = cuda(rng.random((n, d)).astype(np.float32))
    V = rng.standard_normal((n, k)).astype(np.float32)
    assert fused.available(X, name)
    gram = DeviceTiledGram(X, Biased(mp.Gaussian(0.3 * d**0.5), 1.0), precision=name)
    assert gram.fused
    found = to_numpy(gram @ cuda(V))
    exact = mp.Gram.from_kernel(to_numpy(X).astype(np.float64), mp.Gaussian(0.3 * d**0.5)) @ V + V.sum(axis=0)
    assert np.all(np.isfinite(found))
    tolerance = {"tf32": 1e-3, "bfloat16": 1e-2}[name]
    assert np.max(np.abs(found - exact)) <= tolerance * np.max(np.abs(V).sum(axis=0))
    np.testing.assert_array_equal(found, to_numpy(gram @ cuda(V)))
