"""`predict`: one row, ten thousand rows, and fewer vectors, beside what people use to predict with an SVM.

All have the same data, γ and C. A task with "one row" times many calls with a row each. In "fewer vectors" a
tenth of the support vectors is left, or chosen as landmarks before training; what counts there is the error.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import marginpath as mp
from marginpath import datasets
from marginpath.datasets import Dataset
from marginpath.datasets.downloads import own_file
from marginpath.extras import require
from marginpath.files.objects import save

from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Entry, Facts, Task

#: Rows of a batch, calls with one row, and how many times fewer vectors.
BATCH, CALLS, FEWER = 10_000, 1000, 10
#: Points of accuracy that fewer vectors may cost.
POINTS = 0.2

#: Sets of the folder `more` of MARGINPATH_DATA, where it has them.
MORE = (
    *("banknote", "german-mixed", "attrition", "phoneme", "credit_data"),
    *("glass", "vehicle", "segment", "satimage", "pendigits"),
)

OURS, COMPRESSED, LANDMARKS = "marginpath", "compressed", "Nystroem, as many landmarks"


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
    digits, others = partial(sets.mnist, 3, 5), partial(sets.mnist, 4, 9)
    fitted = cache(partial(_fitted, quick=quick))
    small = _fitted(_synthetic, quick=True)
    for load in (_synthetic, digits, _htru2):
        name, rows = _title(fitted(load)), len(fitted(load).rows)
        calls = CALLS // 10 if quick else CALLS
        one, many = partial(_one, calls), _many
        yield Task(f"one row × {calls:,}: {name}", fitted(load), small, list(_contestants(one, 2.0)))
        yield Task(f"{rows:,} rows: {name}", fitted(load), small, list(_contestants(many, 1.0)))
    more = [partial(_more, name) for name in MORE if own_file(f"more/{name}.npz") is not None]
    for load in (digits, others, *([] if quick else more)):
        contestants = [
            Contestant(COMPRESSED, _compressed, _judge_compressed),
            Contestant(LANDMARKS, _landmarks, _judge_landmarks),
        ]
        yield Task(f"fewer vectors: {fitted(load).data.name}", fitted(load), small, contestants)


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
    return fitted.classifier.compress(max(1, len(fitted.classifier.support_) // FEWER))


def _landmarks(fitted: Fitted) -> Any:
    clf = fitted.classifier
    number = max(1, len(clf.support_) // FEWER)
    features = Nystroem(gamma=clf.gamma_, n_components=number, random_state=0)
    with peers.quiet():
        linear = LinearSVC(loss="hinge", C=clf.C_, max_iter=10_000, random_state=0)
        return make_pipeline(features, linear).fit(fitted.data.X, fitted.data.y)


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


def _judge_compressed(model: Any, fitted: Fitted) -> Facts:
    """Return what fewer vectors cost, and what is certain."""
    X, y, clf = fitted.data.X_test, fitted.data.y_test, fitted.classifier
    assert X is not None
    before, after = (float(np.mean(each.predict(X) != y)) for each in (clf, model))
    return {
        "test error": after,
        "before": before,
        "points lost": 100 * (after - before),
        "vectors": model.compression_.n_vectors,
        "vectors before": model.compression_.n_before,
        "refit": model.compression_.refit,
        "bound": float(np.max(model.compression_.distance)),
        "certain": float(np.mean(model.certain(X))),
    }


def _judge_landmarks(model: Any, fitted: Fitted) -> Facts:
    error = float(np.mean(model.predict(fitted.data.X_test) != fitted.data.y_test))
    return {"test error": error, "vectors": max(1, len(fitted.classifier.support_) // FEWER)}


def _conclude(entries: Sequence[Entry]) -> Facts:
    """Return on how many sets a tenth of the vectors is nearly as accurate, and beats as many landmarks."""
    errors = {(e.task, e.contestant): e.facts for e in entries if e.task.startswith("fewer") and e.facts}
    ours = {task: facts for (task, who), facts in errors.items() if who == COMPRESSED}
    theirs = {task: facts for (task, who), facts in errors.items() if who == LANDMARKS}
    kept = sum(float(facts["points lost"]) <= POINTS for facts in ours.values())
    better = [t for t in ours if t in theirs and _error(ours[t]) <= _error(theirs[t])]
    return {
        f"sets where {FEWER} times fewer vectors cost at most {POINTS} points": f"{kept} of {len(ours)}",
        "sets where they are as accurate as that many landmarks, or more": f"{len(better)} of {len(ours)}",
    }


def _error(facts: Facts) -> float:
    return float(facts["test error"])


def _synthetic() -> Dataset:
    """Return samples of 20 features that need about 500 vectors."""
    from sklearn.datasets import make_classification

    X, y = make_classification(3000, 20, n_informative=10, flip_y=0.03, random_state=0)
    return _split("synthetic", X, y, 1500)


def _htru2() -> Dataset:
    data = datasets.load_htru2()
    return replace(_split(data.name, data.X, data.y, 4000), name="HTRU2")


def _more(name: str) -> Dataset:
    file = np.load(str(own_file(f"more/{name}.npz")))
    return _split(name, file["X"].astype(np.float64), file["y"], 4000)


def _split(name: str, X: np.ndarray, y: np.ndarray, most: int) -> Dataset:
    """Return a third of the samples for the test, and at most so many of the others, scaled by them."""
    fit, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)
    fit = fit[:most]
    names = tuple(map(str, np.unique(y)))
    scale = StandardScaler().fit(X[fit])
    return Dataset(name, scale.transform(X[fit]), y[fit], scale.transform(X[test]), y[test], names)


BENCHMARK = Benchmark(
    "predict", "how fast is a row, are ten thousand rows, and what do fewer vectors cost?", tasks, _conclude
)
