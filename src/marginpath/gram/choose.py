"""Where a Gram matrix lives: the one place that decides, and what to do where memory or precision fails."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard, TypeVar

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, as_floating, is_numpy, namespace, to_numpy
from ..kernels.centred import CentredLinear
from ..kernels.functions import Kernel, Linear, as_kernel, biased
from ..mapped import MEMORY, Room
from ..parallel import available
from .base import Gram
from .cluster import ClusterLandmarkGram, Rows, gram_of
from .device import DeviceTiledGram
from .filling import matrix_bytes
from .gpu import free_bytes, is_out_of_memory, on_gpu, release, torch_device
from .landmarks import LandmarkGram, landmark_gram
from .linear import linear_gram
from .memory import available_memory
from .precision import as_precision, is_finite, next_finer
from .tiled import TiledGram, kernel_diagonal

logger = logging.getLogger("marginpath")

_SHARE = 0.8  # of the free memory; the rest is for the states of a run and for the products
_SAMPLES = 0.4  # of it for the samples, which are there twice: as they came and as the products take them
_GIB = 2**30
_PER_ROOT, _FEWEST = 10, 20  # landmarks, of √n rows and at least
_MANY = 10_000  # rows that landmarks pay for
_FEATURES = 0.5  # of the memory for them and what their sweeps need; the rest is for the states
_SWEPT = 8192  # rows, of which fewer have kernel values instead
_BLOCKS = 4 * 128  # bytes for each row that the Gram matrices of blocks take
_ADVICE = "Set TMPDIR to a folder on a disk that has room, raise cache_size, or take fewer landmarks."

R = TypeVar("R")


class Place(NamedTuple):
    """Where and how kernel values are computed, the bytes that they may take, and by how many landmarks."""

    precision: str | None = None
    device: str | None = None
    memory: float | None = None
    landmarks: int | np.ndarray | str | None = None
    seed: int = 0
    centred: bool = False
    rounded: bool = False

    def probe(self, X: Array) -> Array:
        """Return one sample where the matrix is to live; refuse a precision that there is none of there."""
        sample = X[:1, :] if self.device is None else _moved(X[:1, :], self.device)
        return as_precision(self.precision, sample).samples(sample)

    def budget(self, X: Array, matrices: int = 1) -> tuple[int, float]:
        """Return those that so many stored matrices need, and those at hand."""
        sample = self.probe(X)
        dtype = as_precision(self.precision, sample).storage(sample)
        needed = matrices * matrix_bytes(X.shape[0], dtype)
        if self.memory is not None and needed > self.memory:
            return needed, self.memory
        free = _SHARE * (free_bytes(sample) if on_gpu(sample) else available_memory())
        return needed, free if self.memory is None else min(self.memory, free)

    def number_bytes(self, X: Array) -> int:
        """Return how many bytes a feature takes: of NumPy's rows that are swept over, two."""
        here = self.device is None and (is_numpy(X) or sp.issparse(X)) and X.shape[0] > _SWEPT
        return 2 if self.rounded and here and not self.centred else 4

    @property
    def given_landmarks(self) -> int | np.ndarray | None:
        """How many landmarks, or which, where that was said."""
        return None if isinstance(self.landmarks, str) else self.landmarks

    def landmarks_on(self, X: Array) -> int | np.ndarray | None:
        """Return how many landmarks there are to be, or which; None without any."""
        if isinstance(self.landmarks, str):
            if self.landmarks != "auto":
                raise ValueError(
                    f"landmarks is a number, row numbers, 'auto' or None; got {self.landmarks!r}."
                )
            needed, room = self.budget(X)
            return None if needed <= room else landmarks_for(X.shape[0], room, self.number_bytes(X))
        return self.landmarks


def landmarks_for(n: int, room: float, number_bytes: int = 4) -> int | None:
    """Return how many landmarks so many rows get: 10 √n, or what there is room for; None where that is none.

    Few rows have none either: their kernel values are soon computed again.

    The features take 4 bytes for each row and landmark, or 2, and the Gram matrices of their blocks of 128
    rows 512 bytes for each row: :func:`feature_room`.

    Examples
    --------
    >>> landmarks_for(50_000, 4e9), landmarks_for(1_000_000, 4e9), landmarks_for(10**7, 4e9)
    (2236, 372, None)
    >>> landmarks_for(1_000_000, 4e9, number_bytes=2)
    744
    """
    most = (_FEATURES * room / n - _BLOCKS) / number_bytes
    count = min(int(_PER_ROOT * n**0.5), int(most))
    return count if n >= _MANY and count >= _FEWEST else None


def feature_room(n: int, landmarks: int, memory: float | None, number_bytes: int = 4) -> Room:
    """Return where the features of so many rows and landmarks lie: in memory where it has room for them.

    That is where "auto" would take so many. Beyond, there is as much room for each of them, their Gram
    matrices, and of every thread a copy of some rows with its own, as lets all of them fit.

    Examples
    --------
    >>> feature_room(1_000_000, 372, 4e9) == feature_room(1_000_000, 2000, None) == Room()
    True
    >>> feature_room(1_000_000, 2000, 4e9).most <= 4e9 / 8
    True
    """
    if memory is None or n * (number_bytes * landmarks + _BLOCKS) <= _FEATURES * memory:
        return MEMORY
    return Room(_FEATURES * memory / (2 + 2 * available()), _ADVICE)


def fits(X: Array, matrices: int = 1, *, precision: str | None = None, memory: float | None = None) -> bool:
    """Whether so many stored kernel matrices of X fit into the memory; see :meth:`Gram.choose`.

    Examples
    --------
    >>> X = np.zeros((100, 2))
    >>> fits(X, memory=80_000), fits(X, 2, memory=80_000)
    (True, False)
    """
    needed, room = Place(precision, None, memory).budget(X, matrices)
    return needed <= room


def choose_gram(
    X: Any,
    kernel: str | Callable[..., Any] | None,
    *,
    constant: float = 0.0,
    precision: str | None = None,
    device: str | None = None,
    memory: float | None = None,
    landmarks: int | np.ndarray | str | None = None,
    seed: int = 0,
    centred: bool = False,
    rounded: bool = False,
    **params: Any,
) -> Gram:
    """Return the Gram matrix of X where it can live; see :meth:`Gram.choose`, and :func:`landmark_gram`.

    Examples
    --------
    >>> type(choose_gram(np.ones((3, 2)), "linear", constant=1.0)).__name__
    'LinearGram'
    """
    kernel, place = (
        None if kernel is None else as_kernel(kernel, **params),
        Place(precision, device, memory, landmarks, seed, centred, rounded and constant == 0),
    )
    if isinstance(X, Rows):
        return _on_cluster(X, kernel, constant, place)
    X = as_floating(X, "X")
    if not _has_values(kernel):
        return _as_given(X, kernel, constant, place)
    if (landmarks := place.landmarks_on(X)) is not None:
        return _by_landmarks(X, kernel, landmarks, constant, place)
    return _stored_or_tiled(X, biased(kernel, constant), place)


def with_gram(
    X: Any,
    kernel: str | Callable[..., Any] | None,
    work: Callable[[Gram], R],
    *,
    constant: float = 0.0,
    precision: str | None = None,
    device: str | None = None,
    memory: float | None = None,
    landmarks: int | np.ndarray | str | None = None,
    seed: int = 0,
    centred: bool = False,
    rounded: bool = False,
    **params: Any,
) -> R:
    """Choose a Gram matrix and work on it; again where memory or precision did not suffice.

    Where memory runs out, the work is repeated once with tiles. Where the last state of the path is not
    finite, it is repeated in the next higher precision, with a warning. On a cluster, neither is.

    Parameters
    ----------
    work : callable, Gram → Path or CrossValidatedPath
        Such as ``lambda gram: mp.cross_validate_path(solver, gram, y)``.
    X, kernel, constant, precision, device, memory, landmarks, seed, centred, rounded, params
        As in :meth:`Gram.choose` and :func:`landmark_gram`.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> data = mp.datasets.toy()
    >>> solver = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3))
    >>> path = with_gram(data.X, "rbf", lambda gram: mp.run(solver, mp.Problem(gram, data.y), 10), sigma=1.0)
    >>> path.last.t
    10
    """
    kernel, place = (
        None if kernel is None else as_kernel(kernel, **params),
        Place(precision, device, memory, landmarks, seed, centred, rounded and constant == 0),
    )
    if isinstance(X, Rows):
        return work(_on_cluster(X, kernel, constant, place))
    X = as_floating(X, "X")
    while True:
        result = _attempt(X, kernel, constant, place, work)
        if is_finite(result):
            return result
        coarse, finer = place.precision or X.dtype, next_finer(place.precision, X)
        if finer is None:
            raise FloatingPointError(
                f"The path is not finite in {coarse}, the finest precision there is. Check the "
                f"scale of the samples and of the kernel."
            )
        warnings.warn(
            f"The path is not finite in precision {coarse}; it is run again in {finer}.", stacklevel=2
        )
        if finer == "float64":
            X, finer = _in_double(X), None
        place = place._replace(precision=finer)


def diagonal_of(X: Any, kernel: Kernel | None) -> np.ndarray:
    """Return k(x_i, x_i) for samples wherever they are; None is a matrix given as such.

    Examples
    --------
    >>> diagonal_of(np.array([[1.0, 2.0], [0.0, 3.0]]), Linear())
    array([5., 9.])
    """
    if isinstance(X, Rows):
        return X.diagonal(_not_given(kernel))
    return to_numpy(namespace(X).linalg.diagonal(X)) if kernel is None else kernel_diagonal(X, kernel)


def _attempt(X: Array, kernel: Kernel | None, constant: float, place: Place, work: Callable[[Gram], R]) -> R:
    try:
        return work(choose_gram(X, kernel, constant=constant, **place._asdict()))
    except Exception as error:
        if not (is_out_of_memory(error) and _has_values(kernel)):
            raise
    release(place.probe(X))
    logger.warning("Memory ran out; once more with tiles.")
    needed, room = place.budget(X)
    less = place._replace(memory=min(room / 4, needed - 1))
    try:
        return work(choose_gram(X, kernel, constant=constant, **less._asdict()))
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise MemoryError(
            f"Memory ran out with a stored kernel matrix of {X.shape[0]:,} samples, and with tiles too. Use "
            f"fewer columns (classes × folds), a coarser precision, or fewer samples."
        ) from error


def _has_values(kernel: Kernel | None) -> TypeGuard[Kernel]:
    """Whether there are kernel values to compute: not for X Xᵀ, kept as X, nor for a matrix given."""
    return not (kernel is None or isinstance(kernel, Linear | CentredLinear))


def _on_cluster(X: Rows, kernel: Kernel | None, constant: float, place: Place) -> Gram:
    """Leave the samples with the workers, whose memory decides what is stored."""
    if place.precision is not None or place.device is not None:
        raise ValueError(
            f"The workers of a cluster compute in the precision of X, but precision={place.precision!r} and "
            f"device={place.device!r} were given. Leave both None, or give X as an array."
        )
    kernel, landmarks = _not_given(kernel), place.given_landmarks
    if landmarks is None:
        return gram_of(X, kernel, constant=constant)
    _require_values(kernel, landmarks)
    landmarks = landmarks if isinstance(landmarks, np.ndarray) else min(landmarks, X.shape[0])
    settings: dict[str, Any] = {"seed": place.seed, "centred": place.centred}
    gram = ClusterLandmarkGram(X, kernel, landmarks, constant=constant, **settings)
    _tell_of_landmarks(gram)
    return gram


def _not_given(kernel: Kernel | None) -> Kernel:
    if kernel is None:
        raise ValueError("A precomputed kernel matrix stays on one machine: give X as a NumPy array.")
    return kernel


def _as_given(X: Array, kernel: Kernel | None, constant: float, place: Place) -> Gram:
    """Take X for its own matrix, or, with a linear kernel, for the factor of X Xᵀ."""
    _require_values(kernel, place.given_landmarks)
    if place.precision is not None:
        what = "a precomputed matrix" if kernel is None else "a linear kernel"
        raise ValueError(
            f"precision={place.precision!r} is for kernel values that are computed, and {what} has none. "
            f"Leave precision=None, and give X in the dtype that you want."
        )
    X = X if place.device is None else _moved(X, place.device)
    if kernel is not None:
        return linear_gram(X, kernel, constant)
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"A precomputed kernel matrix is square, but X has shape {tuple(X.shape)}.")
    return Gram.from_matrix(X + constant)


def _stored_or_tiled(X: Array, kernel: Kernel, place: Place) -> Gram:
    needed, room = place.budget(X)
    if needed > room:
        reason = f"its {needed / _GIB:.3g} GiB are over the {room / _GIB:.3g} GiB at hand"
        return _tiles(X, kernel, place, room, reason)
    _say("stored", X.shape[0], f"its {needed / _GIB:.3g} GiB are in the {room / _GIB:.3g} GiB at hand")
    try:
        samples = X if place.device is None else _moved(X, place.device)
        return Gram.from_kernel(samples, kernel, precision=place.precision)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    release(place.probe(X))
    return _tiles(X, kernel, place, room, "memory ran out while it was computed")


def _tiles(X: Array, kernel: Kernel, place: Place, room: float, reason: str) -> Gram:
    (n, d), (precision, device, *_) = X.shape, place
    if device is None and precision is None and not on_gpu(X):
        _say("in tiles", n, reason)
        return TiledGram(X, kernel, cache_bytes=int(room))
    rows = None
    if device is not None and 8 * n * d > _SAMPLES * room:
        rows = max(1, int(_SAMPLES * room) // (16 * d))
        reason += f", and those of the samples too: {rows:,} at a time are streamed"
    _say("in tiles", n, reason)
    block = int(max(2**20, min(2**31, room / 4)))
    return DeviceTiledGram(X, kernel, precision=precision, device=device, rows=rows, room=block)


def _by_landmarks(
    X: Array, kernel: Kernel, landmarks: int | np.ndarray, constant: float, place: Place
) -> Gram:
    """Approximate the matrix; the precision is that of its features and their products."""
    samples = X if place.device is None else _moved(X, place.device)
    if not isinstance(landmarks, np.ndarray):
        landmarks = min(landmarks, X.shape[0])
    count = len(landmarks) if isinstance(landmarks, np.ndarray) else landmarks
    settings: dict[str, Any] = {"precision": place.precision, "centred": place.centred}
    settings |= {"seed": place.seed, "constant": constant}
    room, rounded = (feature_room(X.shape[0], count, place.memory, size) for size in (4, 2))
    settings |= {"room": room, "rounded": rounded if place.number_bytes(X) == 2 else None}
    gram = landmark_gram(samples, kernel, landmarks, **settings)
    _tell_of_landmarks(gram)
    return gram


def _require_values(kernel: Kernel | None, landmarks: int | np.ndarray | None) -> None:
    """Refuse landmarks where no kernel values are computed."""
    if landmarks is None or _has_values(kernel):
        return
    what = "a precomputed matrix" if kernel is None else "the linear kernel, whose features are X itself,"
    raise ValueError(
        f"landmarks={landmarks!r} approximates a kernel of the samples, and {what} needs none. Leave "
        f"landmarks='auto'."
    )


def _tell_of_landmarks(gram: LandmarkGram | ClusterLandmarkGram) -> None:
    logger.info(
        "The kernel matrix of %s samples is approximated by %s landmarks, and lacks %.2g %% of its trace.",
        f"{gram.shape[0]:,}",
        f"{gram.root.shape[1]:,}",
        100 * gram.trace_error,
    )


def _moved(X: Array, name: str) -> Array:
    """Return samples on that device."""
    torch, place = torch_device(name)
    return torch.asarray(X, device=place)


def _in_double(X: Array) -> Array:
    return X.astype(np.float64) if sp.issparse(X) else namespace(X).astype(X, namespace(X).float64)


def _say(how: str, n: int, reason: str) -> None:
    logger.info("The kernel matrix of %s samples is %s: %s.", f"{n:,}", how, reason)
