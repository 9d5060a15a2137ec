"""`predict`: one row, ten thousand rows, and fewer vectors, beside what people use to predict with an SVM.

All have the same data, γ and C. A task with "one row" times many calls with a row each; with "compiled", rows
one by one in compiled code. For "fewer vectors", see `fewer_vectors`: what counts there is the error.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import marginpath as mp
from marginpath import datasets
from marginpath.datasets import Dataset
from marginpath.extras import require
from marginpath.files.objects import save
from marginpath.prediction.predictors import predictor_of

from . import data as sets
from . import fewer_vectors, peers
from .fewer_vectors import split
from .measure import Benchmark, Contestant, Facts, Task

#: Rows of a batch, and calls with one row.
BATCH, CALLS = 10_000, 1000
OURS, COMPRESSED, ALONE = "marginpath", "compressed", "marginpath, compiled call alone"


@dataclass(frozen=True)
class Fitted:
    """A data set, our classifier of it, and rows to predict."""

    data: Dataset
    classifier: Any
    rows: np.ndarray

    @cached_property
    def compressed(self) -> Any:
        """The classifier with a tenth of its vectors."""
        return _compressed(self)


def tasks(quick: bool) -> Iterator[Task]:
    """Yield one row and a batch of the first sets, and fewer vectors of all of them."""
    digits = partial(sets.mnist, 3, 5)
    fitted = cache(partial(_fitted, quick=quick))
    small = _fitted(_synthetic, quick=True)
    for load in (_synthetic, digits, _htru2):
        name, rows = _title(fitted(load)), len(fitted(load).rows)
        calls = CALLS // 10 if quick else CALLS
        one, many = partial(_one, calls), _many
        yield Task(f"one row × {calls:,}: {name}", fitted(load), small, list(_contestants(one, 2.0)))
        yield Task(f"{rows:,} rows: {name}", fitted(load), small, list(_contestants(many, 1.0)))
        if fitted(load).rows.dtype == np.float64:
            yield Task(f"one row × {rows:,}, compiled: {name}", fitted(load), small, list(_compiled()))
    yield from fewer_vectors.tasks(quick)


def _compiled() -> Iterator[Contestant]:
    """Yield the decision values, row by row and without Python between, and one pass over the vectors."""
    from .one_pass import passed, predicted

    def packed(fitted: Fitted) -> tuple[Any, Fitted]:
        clf = fitted.classifier
        return predictor_of(clf.support_vectors_, mp.Gaussian((2 * clf.gamma_) ** -0.5)), fitted

    def sums(ready: tuple[Any, Fitted]) -> Any:
        return predicted(ready[0], ready[1].rows, ready[1].classifier.dual_coef_)

    yield Contestant(ALONE, sums, prepare=packed)
    yield Contestant(
        "one pass over the vectors", lambda ready: passed(ready[0], ready[1].rows), prepare=packed, target=0.5
    )


def _fitted(load: Callable[[], Dataset], *, quick: bool) -> Fitted:
    data = sets.sized(load(), quick)
    classifier = mp.MarginPathClassifier(random_state=0).fit(data.X, data.y)
    drawn = np.random.default_rng(0).integers(len(data.X), size=1000 if quick else BATCH)
    return Fitted(data, classifier, np.ascontiguousarray(data.X[drawn]))


def _title(fitted: Fitted) -> str:
    vectors = len(fitted.classifier.support_)
    return f"{fitted.data.name}, {vectors:,} vectors, {fitted.rows.shape[1]} features"


def _contestants(use: Callable[[Any, np.ndarray], Any], target: float) -> Iterator[Contestant]:
    """Yield who predicts, each with what makes it ready outside the clock."""

    def contestant(name: str, make: Callable[[Fitted], Any], **settings: Any) -> Contestant:
        made: dict[int, Any] = {}

        def prepare(fitted: Fitted) -> tuple[Any, Fitted]:
            if id(fitted) not in made:
                made[id(fitted)] = make(fitted)
                made[id(fitted)].predict(fitted.rows[:1])  # what is packed once is packed now
            return made[id(fitted)], fitted

        def run(ready: tuple[Any, Fitted]) -> Any:
            use(ready[0].predict, ready[1].rows)
            return ready[0]

        return Contestant(name, run, _judge, prepare, **settings)

    yield contestant(OURS, lambda fitted: fitted.classifier)
    yield contestant(COMPRESSED, lambda fitted: fitted.compressed)
    for name, find in (("SVC", peers.scikit_svc), ("intelex SVC", peers.intelex_svc)):
        yield contestant(name, partial(_svc, find), needs=find, target=target)
    yield contestant("onnxruntime", OnnxModel, needs=_runtime, target=1.0)
    small = partial(OnnxModel, compressed=True)
    yield contestant("onnxruntime, compressed", small, needs=_runtime)


def _one(calls: int, predict: Callable[[Any], Any], rows: np.ndarray) -> None:
    for i in range(calls):
        predict(rows[i % len(rows)][None])


def _many(predict: Callable[[Any], Any], rows: np.ndarray) -> None:
    predict(rows)


class OnnxModel:
    """A classifier in onnxruntime."""

    def __init__(self, fitted: Fitted, compressed: bool = False) -> None:
        from marginpath.export.onnx import to_onnx

        graph = to_onnx(fitted.compressed if compressed else fitted.classifier, fitted.rows)
        self.bytes = graph.SerializeToString()
        self.opset = max(entry.version for entry in graph.opset_import)
        self.session = _runtime().InferenceSession(self.bytes, providers=["CPUExecutionProvider"])

    def predict(self, X: np.ndarray) -> Any:
        """Return the labels."""
        return self.session.run(["label"], {"X": X})[0]


def _runtime() -> Any:
    require("skl2onnx", extra="onnx", what="ONNX models")
    return require("onnxruntime", extra="onnx", what="ONNX models")


@peers.quiet()
def _svc(find: Callable[[], Any], fitted: Fitted) -> Any:
    clf = fitted.classifier
    return find()(C=clf.C_, gamma=clf.gamma_, cache_size=peers.CACHE_MB).fit(fitted.data.X, fitted.data.y)


def _compressed(fitted: Fitted) -> Any:
    return fitted.classifier.compress(max(1, len(fitted.classifier.support_) // fewer_vectors.FEWER))


def _judge(model: Any, ready: tuple[Any, Fitted]) -> Facts:
    """Return the test error, and the kilobytes of a file."""
    data = ready[1].data
    assert data.X_test is not None
    error = float(np.mean(model.predict(np.ascontiguousarray(data.X_test)) != data.y_test))
    facts: dict[str, float | str] = {"test error": error, "file, kB": _file_size(model) / 1e3}
    if isinstance(model, OnnxModel):
        facts["opset"] = float(model.opset)
    return facts


def _file_size(model: Any) -> int:
    """Return the bytes of the file in which such a model is usually kept."""
    if isinstance(model, OnnxModel):
        return len(model.bytes)
    if not isinstance(model, mp.MarginPathClassifier):
        return len(pickle.dumps(model))
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "model", model.slim(rounded=True))
        return (Path(folder) / "model").stat().st_size


def _synthetic() -> Dataset:
    """Return samples of 20 features that need about 500 vectors."""
    from sklearn.datasets import make_classification

    X, y = make_classification(3000, 20, n_informative=10, flip_y=0.03, random_state=0)
    return split("synthetic", X, y, 1500, 0)


def _htru2() -> Dataset:
    data = datasets.load_htru2()
    return split("HTRU2", data.X, data.y, 4000, 0)


BENCHMARK = Benchmark(
    "predict",
    "how fast is a row, are ten thousand rows, and what do fewer vectors cost?",
    tasks,
    fewer_vectors.conclude,
)
