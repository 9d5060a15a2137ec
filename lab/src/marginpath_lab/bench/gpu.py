"""`gpu`: the same code on a GPU, in the precisions that it has there.

A tuned ten-class model of MNIST, the product inside a step, tiles on the fly for more samples than a stored
matrix could have, and one fit against two cores. Without a GPU, only the last one
runs, and only where quick.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import config_context
from threadpoolctl import threadpool_limits

import marginpath as mp
from marginpath import datasets, parallel
from marginpath.arrays import to_numpy
from marginpath.datasets import Dataset
from marginpath.gram.device import DeviceTiledGram
from marginpath.gram.gpu import torch_device
from marginpath.validation.columns import class_signs
from marginpath.validation.cross_validation import CrossValidatedPath, PathValidation

from . import data as sets
from .device import ceilings, described, forget_peak, has_gpu, need_gpu, peak, seconds_of, wait
from .measure import Benchmark, Contestant, Entry, Facts, Task
from .peers import gamma
from .torchkm_path import TorchKMPath, torchkm_svc

SIGMA = 3.4
MADE_GAMMA = 1 / (2 * 4.0**2)
WIDE_GAMMA = 1 / (2 * 5.0**2)  # few landmarks see more of a wide kernel; chosen on 12,000 digits
_LIMITS = {"tf32": 2.5, "float32": 6.0}  # seconds wanted for the tuned model
#: The same by landmarks, and the test error.
_LANDMARKS = {
    "MNIST with shifts, n = 540,000": (10.0, 0.013),
    "made rows, n = 5,000,000": (10.0, 1.0),
    "made rows, n = 10,000,000": (30.0, 1.0),
}


def tasks(quick: bool) -> Iterator[Task]:
    """Yield the tuned model, the product of a step, tiles, and one fit."""
    whole = datasets.load_mnist()
    mnist, small = sets.sized(whole, quick), sets.part(whole, sets.SMALL)
    yield Task(
        f"{sets.title(mnist)}: 400 steps, 5 folds, refit",
        mnist,
        small,
        [
            *(_contestant(p, TunedOnGpu(p)) for p in ("tf32", "float32", "bfloat16")),
            _classifier("classifier, tf32", Classifier("tf32", {"max_iter": 400})),
        ],
    )
    yield Task(
        f"one product, n = {len(mnist.y):,}, 60 columns",
        mnist,
        small,
        [_contestant(p, StoredProduct(p), repeats=1) for p in ("tf32", "float32", "bfloat16")],
    )
    many = mnist if quick else shifted(mnist, 250_000)
    tiles = {p: TiledProduct(p) for p in ("bfloat16", "tf32", "float32")}
    tiles["bfloat16, streamed"] = TiledProduct("bfloat16", rows=2**16)
    yield Task(
        f"one product in tiles, n = {len(many.y):,}, 10 columns",
        many,
        small,
        [_contestant(name, product, repeats=1) for name, product in tiles.items()],
    )
    yield Task(
        f"{sets.title(many, ' with shifts')}: 200 steps in tiles",
        many,
        small,
        [_contestant(p, Fit(p, 200, 1.06, memory=2e10), repeats=1) for p in ("bfloat16", "tf32")],
    )
    yield from _landmarks(quick)
    yield from _beside_torchkm(quick)
    some = sets.part(whole, sets.QUICK if quick else 20_000)
    fixed = {"method": "inertial", "stopping": None, "max_iter": 200}
    here = Classifier(None, fixed, device=None)
    yield Task(
        f"{sets.title(some)}: one fit of the classifier, 200 steps",
        some,
        small,
        [
            _classifier("GPU, float32", Classifier(None, fixed)),
            Contestant("two cores, float32", here, here.judge, repeats=1),
        ],
    )


def _landmarks(quick: bool) -> Iterator[Task]:
    """Yield many rows by landmarks, made when their turn comes: ten classes of digits, two of made rows."""
    settings = {"max_iter": 300, "landmarks": 50 if quick else 10_000}
    of_ten = {**settings, "multi_class": "ovr", "intercept_scaling": 0.5}
    digits = Classifier("bfloat16", of_ten, gamma=WIDE_GAMMA)
    yield _by_landmarks(ManyRows("MNIST with shifts", sets.QUICK if quick else 540_000), digits)
    rows = Classifier("bfloat16", {**settings, "landmarks": 50 if quick else 2000}, gamma=MADE_GAMMA)
    for n in (500,) if quick else (1_000_000, 5_000_000, 10_000_000):
        yield _by_landmarks(ManyRows("made rows", n), rows)


def _beside_torchkm(quick: bool) -> Iterator[Task]:
    """Yield two pairs of digits and rows of many columns, each tuned by us and by TorchKM on the same GPU."""
    made = sets.many_columns(sets.QUICK if quick else 20_000)
    pairs = [(sets.sized(sets.mnist(*digits), quick), SIGMA) for digits in ((3, 5), (4, 9))]
    for data, sigma in (*pairs, (made, (made.X.shape[1] / 2) ** 0.5)):
        ours = Classifier("tf32", {"method": "inertial"}, gamma=gamma(sigma))
        theirs = TorchKMPath(sigma, device="cuda")
        rival = Contestant("TorchKM, 13 C", theirs, theirs.judge, needs=_need_torchkm, repeats=1, target=5.0)
        small, ours_too = sets.part(data, sets.SMALL), _classifier("classifier, tf32", ours)
        yield Task(f"{sets.title(data)}: beside TorchKM", data, small, [ours_too, rival])


@dataclass(frozen=True)
class ManyRows:
    """A recipe for so many rows, shifted digits or made ones: gigabytes that wait for their turn."""

    name: str
    n: int

    def made(self) -> Dataset:
        """Return the rows."""
        if self.name == "made rows":
            return sets.mixture(self.n)
        whole = datasets.load_mnist()
        return shifted(whole, self.n) if self.n >= len(whole.y) else sets.part(whole, self.n)


def _by_landmarks(rows: ManyRows, run: Classifier) -> Task:
    made = Contestant(
        "classifier, bfloat16", run, run.judge, prepare=ManyRows.made, needs=need_array_api, repeats=1
    )
    name = f"{rows.name}, n = {rows.n:,}: landmarks, 5 folds, refit"
    return Task(name, rows, replace(rows, n=500), [made])


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return the verdicts on what is wanted in absolute numbers."""
    if not has_gpu():
        return {}
    facts: dict[str, float | str] = {}
    ran = [entry for entry in entries if entry.seconds]
    tuned = {e.contestant: e for e in ran if "refit" in e.task}
    for precision, limit in _LIMITS.items():
        if precision in tuned:
            entry = tuned[precision]
            met = (entry.median or 0) <= limit and _fact(entry, "test error") <= 0.015
            facts[f"tuned in {precision} (wanted: {limit} s, test error 0.015)"] = _verdict(met)
    for entry in ran:
        share = _fact(entry, "share of ceiling")
        if "60 columns" in entry.task and entry.contestant == "tf32":
            facts["product in tf32 (wanted: 0.85 of the copy bandwidth)"] = _verdict(share >= 0.85)
        if "10 columns" in entry.task and "streamed" not in entry.contestant:
            facts[f"tiles in {entry.contestant} (wanted: 0.4 of the matrix rate)"] = _verdict(share >= 0.4)
        if (name := entry.task.partition(":")[0]) in _LANDMARKS:
            seconds, error = _LANDMARKS[name]
            met = (entry.median or 0) <= seconds and _fact(entry, "test error") <= error
            wanted = f"{seconds:g} s, 100 GB" + (f", test error {error}" if error < 1 else "")
            facts[f"landmarks, {name} (wanted: {wanted})"] = _verdict(met and _fact(entry, "GPU GB") <= 100)
        if "steps in tiles" in entry.task:
            better = _fact(entry, "test error") <= _fact(tuned["tf32"], "test error")
            met = better and _fact(entry, "GPU GB") < 20
            name = f"200 steps in {entry.contestant} tiles (wanted: test error of 60,000 samples, 20 GB)"
            facts[name] = _verdict(met)
    return {**facts, **{f"ceiling, {k}": v for k, v in ceilings().items()}, "GPU": described()}


@dataclass(frozen=True)
class TunedOnGpu:
    """From samples in main memory to a model that is tuned by 5-fold cross-validation along the path."""

    precision: str
    steps: int = 400
    ratio: float = 1.03

    def __call__(self, data: Dataset) -> tuple[mp.Gram, CrossValidatedPath]:
        """Return the matrix and the chosen model."""
        gram = mp.Gram.choose(data.X, mp.Gaussian(SIGMA), precision=self.precision, device="cuda")
        solver = inertial(gram, _signs(data), self.ratio)
        validation = PathValidation(gram, data.y, selection="best")
        found = validation.choose(validation.run(solver, self.steps, stop=None))
        wait()
        return gram, found

    def judge(self, model: tuple[mp.Gram, CrossValidatedPath], data: Dataset) -> Facts:
        """Return the test error and the chosen step."""
        gram, found = model
        return {
            "test error": _test_error(gram, _signs(data) * found.u, data),
            "CV error": 1 - found.best_score,
            "C": found.C,
            "step": found.step,
        }


@dataclass(frozen=True)
class StoredProduct:
    """K V for the 60 columns of ten classes and six models each, timed by the device."""

    precision: str

    def prepare(self, data: Dataset) -> Any:
        """Return the matrix and the columns."""
        gram = mp.Gram.choose(data.X, mp.Gaussian(SIGMA), precision=self.precision, device="cuda")
        return gram, _columns(gram, 60)

    def __call__(self, made: Any) -> float:
        """Return the seconds of one product, the median of several."""
        gram, V = made
        return seconds_of(lambda: gram @ V)

    def judge(self, seconds: float, made: Any) -> Facts:
        """Return the bandwidth."""
        n, width = made[0].shape[0], 2 if self.precision == "bfloat16" else 4
        rate = n * n * width / seconds / 1e12
        return {
            "product ms": 1e3 * seconds,
            "TB/s": rate,
            "share of ceiling": rate / ceilings()["copy, TB/s"],
        }


@dataclass(frozen=True)
class TiledProduct:
    """The same for a matrix that is never stored, and ten columns."""

    precision: str
    rows: int | None = None

    def prepare(self, data: Dataset) -> Any:
        """Return the matrix and the columns; the samples are on the GPU unless they are streamed."""
        kernel = mp.Gaussian(SIGMA)
        gram = DeviceTiledGram(data.X, kernel, precision=self.precision, device="cuda", rows=self.rows)
        return gram, _columns(gram, 10), data.X.shape[1]

    def __call__(self, made: Any) -> float:
        """Return the seconds of one product, the median of several."""
        gram, V, _ = made
        return seconds_of(lambda: gram @ V, 3)

    def judge(self, seconds: float, made: Any) -> Facts:
        """Return the rate of the products of samples alone."""
        gram, _, d = made
        rate = 2 * gram.shape[0] ** 2 * d / seconds / 1e12
        return {
            "product ms": 1e3 * seconds,
            "TFLOP/s": rate,
            "share of ceiling": rate / ceilings()[f"{self.precision} products, TFLOP/s"],
        }


@dataclass(frozen=True)
class Fit:
    """So many inertial steps of the ten classes, without folds."""

    precision: str
    steps: int
    ratio: float
    memory: float

    def __call__(self, data: Dataset) -> tuple[mp.Gram, Any]:
        """Return the matrix and the signed coefficients."""
        forget_peak()
        kernel = mp.Gaussian(SIGMA)
        gram = mp.Gram.choose(data.X, kernel, precision=self.precision, device="cuda", memory=self.memory)
        signs = _signs(data)
        problem = mp.Problem(gram, signs)
        path = mp.run(inertial(gram, signs, self.ratio), problem, self.steps, every=self.steps, keep=0)
        wait()
        return gram, to_numpy(problem.Y * path.last.u)

    def judge(self, model: tuple[mp.Gram, Any], data: Dataset) -> Facts:
        """Return the test error and the peak of the memory of the GPU."""
        return {"test error": _test_error(*model, data), "GPU GB": peak() / 1e9}


@dataclass(frozen=True)
class Classifier:
    """The classifier of the scikit-learn face, on the GPU or on two cores."""

    precision: str | None
    settings: dict[str, Any]
    device: str | None = "cuda"
    gamma: float = 1 / (2 * SIGMA**2)

    def __call__(self, data: Dataset) -> mp.MarginPathClassifier:
        """Return it fitted; the samples come from main memory."""
        forget_peak()
        model = mp.MarginPathClassifier(
            gamma=self.gamma,
            precision=self.precision,
            selection="best",
            random_state=0,
            **self.settings,
        )
        with (
            parallel.limited(2),
            threadpool_limits(2),
            config_context(array_api_dispatch=self.device is not None),
        ):
            model.fit(self._placed(data.X), data.y)
        wait()
        return model

    def judge(self, model: mp.MarginPathClassifier, data: Dataset) -> Facts:
        """Return the test error, the step that is kept, and the peak of the memory of a GPU."""
        memory = {} if self.device is None else {"GPU GB": peak() / 1e9}
        with config_context(array_api_dispatch=self.device is not None):
            found = to_numpy(model.predict(self._placed(data.X_test)))
        error = float(np.mean(found != data.y_test))
        return {"test error": error, "C": model.C_, "step": model.step_, **memory}

    def _placed(self, X: Any) -> Any:
        return X if self.device is None else torch_device(self.device)[0].asarray(X, device=self.device)


def _classifier(name: str, run: Classifier, repeats: int = 3) -> Contestant:
    return Contestant(name, run, run.judge, needs=need_array_api, repeats=repeats)


def need_array_api() -> None:
    """Raise where there is no GPU, or scikit-learn may not take arrays on it."""
    need_gpu()
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        raise ImportError("scikit-learn takes arrays on a GPU only with SCIPY_ARRAY_API=1 in the environment")


def _need_torchkm() -> None:
    need_gpu()
    torchkm_svc()


def inertial(gram: mp.Gram, signs: np.ndarray, ratio: float) -> mp.DualDescent:
    """Return Algorithm 2 with 1/λ growing by that ratio from where the first sample leaves the bound."""
    Y = gram.xp.asarray(signs, dtype=gram.dtype, device=gram.device)
    start = float(gram.xp.max(Y * (gram @ Y)))
    return mp.DualDescent(mp.GeometricDecay(start * ratio, ratio), mp.Inertia(3))


def shifted(data: Dataset, n: int, seed: int = 0) -> Dataset:
    """Return the samples and, up to n, random ones of them moved by a pixel, in one of eight directions.

    Examples
    --------
    >>> image = np.zeros((1, 784), dtype=np.float32)
    >>> image[0, 29] = 1  # second row, second pixel
    >>> more = shifted(Dataset("a dot", image, np.array([7]), None, None, ("7",)), 3)
    >>> more.X.shape, more.y.tolist(), [divmod(int(i), 28) for i in more.X.argmax(axis=1)]
    ((3, 784), [7, 7, 7], [(1, 1), (2, 1), (2, 0)])
    """
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, len(data.y), max(0, n - len(data.y)))
    moves = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    which = rng.integers(0, len(moves), len(chosen))
    framed = np.pad(data.X.reshape(-1, 28, 28), ((0, 0), (1, 1), (1, 1)))
    X = np.empty((len(data.y) + len(chosen), 784), dtype=data.X.dtype)
    X[: len(data.y)] = data.X
    for number, (a, b) in enumerate(moves):
        own = which == number
        part = framed[chosen[own], 1 - a : 29 - a, 1 - b : 29 - b]
        X[len(data.y) :][own] = part.reshape(-1, 784)
    return replace(data, X=X, y=np.concatenate([data.y, data.y[chosen]]))


def _contestant(name: str, run: Any, repeats: int | None = None) -> Contestant:
    prepare = getattr(run, "prepare", lambda data: data)
    return Contestant(name, run, run.judge, prepare=prepare, needs=need_gpu, repeats=repeats)


def _signs(data: Dataset) -> np.ndarray:
    classes, codes = np.unique(data.y, return_inverse=True)
    return class_signs(codes, len(classes))


def _test_error(gram: mp.Gram, signed: np.ndarray, data: Dataset) -> float:
    coefficients = gram.xp.asarray(signed, dtype=gram.dtype, device=gram.device)
    Z = gram.xp.asarray(data.X_test, device=gram.device)
    decision = -to_numpy(gram.cross(Z) @ coefficients)
    return float(np.mean(np.unique(data.y)[decision.argmax(axis=1)] != data.y_test))


def _columns(gram: mp.Gram, k: int) -> Any:
    values = np.random.default_rng(0).standard_normal((gram.shape[0], k))
    return gram.xp.asarray(values, dtype=gram.dtype, device=gram.device)


def _fact(entry: Entry, name: str) -> float:
    return float(entry.facts.get(name, 0))


def _verdict(met: bool) -> str:
    return "met" if met else "not met"


BENCHMARK = Benchmark("gpu", "how fast is the same code on a GPU?", tasks, conclude)
