"""`predict`: one row, ten thousand rows, and fewer vectors, beside what people use to predict with an SVM.

All have the same data, γ and C, and at most 4,000 training rows: what predicting costs depends on the vectors
that are left. A task with "one row" times many calls with a row each; with "compiled", rows one by one in
compiled code. For "fewer vectors", see `fewer_vectors`: what counts there is the error.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import marginpath as mp
from marginpath import datasets
from marginpath.datasets import Dataset
from marginpath.datasets.downloads import own_file
from marginpath.extras import require
from marginpath.files.objects import save
from marginpath.prediction.predictors import predictor_of

from . import data as sets
from . import fewer_vectors, peers
from .fewer_vectors import MOST, listed, split
from .measure import Benchmark, Contestant, Entry, Facts, Task

#: Rows of a batch, how often a turn predicts it (milliseconds would be noise), and calls with one row.
BATCH, TIMES, CALLS = 10_000, 10, 2_000
OURS, COMPRESSED, ALONE = "marginpath", "compressed", "marginpath, compiled call alone"
FILE = "file, kB"


@dataclass(frozen=True)
class Fitted:
    """A data set, and models of it, each made when it is first asked for."""

    load: Callable[[], Dataset]
    quick: bool
    _models: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def data(self) -> Dataset:
        """The samples to fit, and those for the test."""
        return sets.sized(self.load(), self.quick)

    @cached_property
    def classifier(self) -> Any:
        """Our classifier."""
        return mp.MarginPathClassifier(random_state=0).fit(self.data.X, self.data.y)

    @cached_property
    def compressed(self) -> Any:
        """The classifier with a tenth of its vectors."""
        return self.classifier.compress(max(1, len(self.classifier.support_) // fewer_vectors.FEWER))

    @cached_property
    def rows(self) -> np.ndarray:
        """Rows to predict."""
        drawn = np.random.default_rng(0).integers(len(self.data.X), size=1000 if self.quick else BATCH)
        return np.ascontiguousarray(self.data.X[drawn])

    def model(self, name: str, make: Callable[[Fitted], Any]) -> Any:
        """Return the model of that name; what it packs at its first row is packed."""
        if name not in self._models:
            self._models[name] = make(self)
            self._models[name].predict(self.rows[:1])
        return self._models[name]


def tasks(quick: bool) -> Iterator[Task]:
    """Yield one row and a batch of the first sets, and fewer vectors of all of them."""
    small, calls, batch = Fitted(_synthetic, True), CALLS // 10 if quick else CALLS, 1000 if quick else BATCH
    for name, load, alone in _sets():
        fitted = Fitted(load, quick)
        yield Task(f"{batch:,} rows × {TIMES}: {name}", fitted, small, list(_contestants(_many, 1.0, 1.0)))
        if alone:
            one = list(_contestants(partial(_one, calls), 2.0, None))
            yield Task(f"one row × {calls:,}: {name}", fitted, small, one)
        if load is _synthetic:
            compiled = f"one row × {TIMES * batch:,}, compiled: {name}"
            yield Task(compiled, fitted, small, list(_compiled()))
    yield from fewer_vectors.tasks(quick)


def _sets() -> Iterator[tuple[str, Callable[[], Dataset], bool]]:
    """Yield names, what loads the set, and whether single rows are timed too."""
    yield "synthetic, 20 features", _synthetic, True
    yield "MNIST 3 vs 5, 784 features", partial(_part, partial(sets.mnist, 3, 5)), True
    yield "HTRU2, 8 features", _htru2, False
    for name, what in (("credit_data", "32 features"), ("pendigits", "16 features, 10 classes")):
        if own_file(f"more/{name}.npz") is not None:
            yield f"{name}, {what}", partial(_more, name), False


def _compiled() -> Iterator[Contestant]:
    """Yield the decision values, row by row and without Python between, and one pass over the vectors."""
    from .one_pass import passed, predicted

    def packed(fitted: Fitted) -> tuple[Any, Fitted]:
        clf = fitted.classifier
        return predictor_of(clf.support_vectors_, mp.Gaussian((2 * clf.gamma_) ** -0.5)), fitted

    def sums(ready: tuple[Any, Fitted]) -> None:
        for _ in range(TIMES):
            predicted(ready[0], ready[1].rows, ready[1].classifier.dual_coef_)

    def pass_over(ready: tuple[Any, Fitted]) -> None:
        for _ in range(TIMES):
            passed(ready[0], ready[1].rows)

    yield Contestant(ALONE, sums, lambda model, ready: {"vectors": ready[0].shape[0]}, packed)
    yield Contestant("one pass over the vectors", pass_over, prepare=packed, target=0.5)


def _contestants(
    use: Callable[[Any, np.ndarray], Any], target: float, of_runtime: float | None
) -> Iterator[Contestant]:
    """Yield who predicts, each with what makes it ready outside the clock."""

    def contestant(name: str, make: Callable[[Fitted], Any], **settings: Any) -> Contestant:
        def prepare(fitted: Fitted) -> tuple[Any, Fitted]:
            return fitted.model(name, make), fitted

        def run(ready: tuple[Any, Fitted]) -> Any:
            use(ready[0].predict, ready[1].rows)
            return ready[0]

        return Contestant(name, run, _judge, prepare, **settings)

    yield contestant(OURS, lambda fitted: fitted.classifier)
    yield contestant(COMPRESSED, lambda fitted: fitted.compressed)
    for name, find in (("SVC", peers.scikit_svc), ("intelex SVC", peers.intelex_svc)):
        yield contestant(name, partial(_svc, find), needs=find, target=target)
    yield contestant("onnxruntime", OnnxModel, needs=_runtime, target=of_runtime)
    small = partial(OnnxModel, compressed=True)
    yield contestant("onnxruntime, compressed", small, needs=_runtime)


def _one(calls: int, predict: Callable[[Any], Any], rows: np.ndarray) -> None:
    for i in range(calls):
        predict(rows[i % len(rows)][None])


def _many(predict: Callable[[Any], Any], rows: np.ndarray) -> None:
    for _ in range(TIMES):
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


def _judge(model: Any, ready: tuple[Any, Fitted]) -> Facts:
    """Return the test error, and the kilobytes of a file."""
    data = ready[1].data
    assert data.X_test is not None
    error = float(np.mean(model.predict(np.ascontiguousarray(data.X_test)) != data.y_test))
    facts: dict[str, float | str] = {"test error": error, FILE: _file_size(model) / 1e3}
    if isinstance(model, OnnxModel):
        return facts | {"opset": float(model.opset)}
    return facts | {"vectors": float(len(model.support_))}


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
    return split("HTRU2", data.X, data.y, MOST, 0)


def _more(name: str) -> Dataset:
    data = sets.table(name)
    return split(name, data.X.astype(np.float64), data.y, MOST, 0)


def _part(load: Callable[[], Dataset]) -> Dataset:
    return sets.part(load(), MOST)


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return on which sets a file is no larger than SVC's pickle, and what follows of fewer vectors."""
    sizes = {
        name: {e.task.partition(": ")[2]: float(e.facts[FILE]) for e in entries if _sized(e, name)}
        for name in (OURS, "SVC")
    }
    both = [name for name in sizes[OURS] if name in sizes["SVC"]]
    smaller = [name for name in both if sizes[OURS][name] <= sizes["SVC"][name]]
    files = {"sets where the slim file is no larger than SVC's pickle": listed(smaller, both)}
    return (files if both else {}) | dict(fewer_vectors.conclude(entries))


def _sized(entry: Entry, contestant: str) -> bool:
    return entry.contestant == contestant and FILE in entry.facts


BENCHMARK = Benchmark(
    "predict",
    "how fast is a row, are ten thousand rows, and what do fewer vectors cost?",
    tasks,
    conclude,
)
