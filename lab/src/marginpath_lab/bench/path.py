"""`path`: every step of a classifier's path beside the SVM at its C.

Every step up to where the classifier's own rule stops it, each class against the rest, is put beside
scikit-learn's SVC at the same C, fitted to a tolerance of 1e-5. Both are measured by the same few lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from marginpath import datasets
from marginpath.datasets import Dataset
from marginpath.datasets.downloads import FOLDER_VARIABLE, own_file
from marginpath.estimators import MarginPathClassifier

from . import data as sets
from . import peers
from .machine import cores
from .measure import Benchmark, Contestant, Facts, Series, Task
from .path_picture import draw
from .path_steps import OURS, THEIRS, Models, bounds, compare, conclude, summary

#: SVC gives up there, after about 10 s; for a larger C it would need more.
ITERATIONS = 3_000_000

_TRAIN, _TEST, _QUICK = 4000, 2000, 90


@dataclass
class Path:
    """Ours: the classifier as it comes, five folds and the model of all the data along the whole path."""

    clf: Any = None

    def run(self, data: Dataset) -> Any:
        """Fit it."""
        with peers.quiet():  # a class may have fewer samples than there are folds
            self.clf = MarginPathClassifier(multi_class="ovr", random_state=0).fit(data.X, data.y)
        return self.clf

    def judge(self, clf: Any, data: Dataset) -> Facts:
        """Return its steps and its last C."""
        return {"steps": clf.n_iter_, "up to C": clf.models_.bound(clf.n_iter_)}


@dataclass
class References:
    """SVC at the C of every step of our path; where it gives up, and for a larger C, there is none."""

    ours: Path
    series: Series = field(default_factory=dict)

    def run(self, data: Dataset) -> Models:
        """Fit each column at every C, one on each core."""
        clf = self.ours.clf
        C, signs = bounds(clf), clf.columns_.signs(clf.codes_)
        with peers.quiet(), ThreadPoolExecutor(cores()) as workers:
            columns = [_fit_column(data.X, y, C, clf.gamma_, workers) for y in signs.T]
        return Models(np.array([a for a, _ in columns]), np.array([b for _, b in columns]))

    def judge(self, models: Models, data: Dataset) -> Facts:
        """Return how near our steps are to it."""
        self.series = compare(self.ours.clf, models, data)
        return summary(self.series)

    def trace(self, models: Models, data: Dataset) -> Series:
        """Return the numbers of every step."""
        return self.series


def _fit_column(
    X: np.ndarray, y: np.ndarray, all_C: np.ndarray, gamma: float, workers: ThreadPoolExecutor
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (samples, steps) and intercepts of SVC, up to the first C that takes too long."""
    coefficients, intercepts = np.full((len(y), len(all_C)), np.nan), np.full(len(all_C), np.nan)
    reach = [np.inf]

    def fit(step: int) -> None:
        C = float(all_C[step])
        if reach[0] < C:
            return
        settings = {"tol": 1e-5, "cache_size": peers.CACHE_MB, "max_iter": ITERATIONS}
        model = peers.scikit_svc()(C=C, gamma=gamma, **settings).fit(X, y)
        if model.fit_status_ != 0:
            reach[0] = min(reach[0], C)
            return
        coefficients[:, step], intercepts[step] = 0.0, model.intercept_[0]
        coefficients[model.support_, step] = model.dual_coef_[0]

    list(workers.map(fit, range(len(all_C))))
    beyond = all_C >= reach[0]  # another core may have been there before
    coefficients[:, beyond] = intercepts[beyond] = np.nan
    return coefficients, intercepts


def tasks(quick: bool) -> Iterator[Task]:
    """Yield twelve sets: two classes that overlap, few of one class, many classes."""
    for name in ("HTRU2", "vehicle") if quick else SETS:
        data = split(SETS[name](), name, _QUICK if quick else _TRAIN)
        ours = Path()
        theirs = References(ours)
        contestants = [
            Contestant(OURS, ours.run, ours.judge, repeats=1),
            Contestant(THEIRS, theirs.run, theirs.judge, trace=theirs.trace, repeats=1),
        ]
        title = sets.title(data, f", {len(np.unique(data.y))} classes")
        yield Task(title, data, datasets.gaussian_mixture(n_samples=60), contestants)


def split(whole: Dataset, name: str, size: int) -> Dataset:
    """Return a random part: at most ``size`` samples for training, three quarters of a small set, scaled."""
    rows, held = train_test_split(
        np.arange(len(whole.y)), train_size=min(size, 3 * len(whole.y) // 4), stratify=whole.y, random_state=0
    )
    X, X_test = (_dense(whole.X[index]) for index in (rows, held[:_TEST]))
    scaler = StandardScaler().fit(X)
    y, y_test = whole.y[rows], whole.y[held[:_TEST]]
    return Dataset(name, scaler.transform(X), y, scaler.transform(X_test), y_test, ())


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def _own(name: str) -> Dataset:
    """Return a set of the data folder that is not published with the package."""
    if (file := own_file(f"more/{name}.npz")) is None:
        raise FileNotFoundError(
            f"more/{name}.npz was not found: set {FOLDER_VARIABLE} to a data folder that holds it, with the "
            f"arrays X and y."
        )
    with np.load(file) as arrays:
        return Dataset(name, arrays["X"], arrays["y"], None, None, ())


#: The sets, and what loads them.
SETS: Mapping[str, Callable[[], Dataset]] = {
    **{name: partial(_own, name) for name in ("phoneme", "credit_data", "attrition", "german-mixed")},
    "HTRU2": datasets.load_htru2,
    "ijcnn1": datasets.load_ijcnn1,
    "a9a": datasets.load_a9a,
    **{name: partial(_own, name) for name in ("yeast", "vehicle", "page-blocks", "satimage", "segment")},
}

BENCHMARK = Benchmark("path", "is every step of the path the SVM at its C?", tasks, conclude, draw)
