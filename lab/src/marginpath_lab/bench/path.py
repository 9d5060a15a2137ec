"""`path`: every step of a classifier's path beside the SVM at its C.

Every step up to where the classifier's own rule stops it, each class against the rest, is put beside
scikit-learn's SVC at the same C, fitted to a tolerance of 1e-5. Both are measured by the same few lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from marginpath import datasets
from marginpath.datasets import Dataset
from marginpath.datasets.downloads import FOLDER_VARIABLE, own_file
from marginpath.estimators import MarginPathClassifier
from marginpath.validation.cross_validation import class_signs

from . import data as sets
from . import peers
from .machine import cores
from .measure import Benchmark, Contestant, Entry, Facts, Series, Task
from .objectives import Objectives
from .path_picture import draw

OURS, THEIRS = "marginpath", "SVC, tol 1e-5"
#: What is wanted of the excess of an objective: of nearly all steps, and of every one; and of the error.
NEAR, FAR, POINTS = 1e-3, 1e-2, 0.5
#: By what an objective exceeds SVC's: see `Objectives`.
EXCESS = ("dual", "primal", "scaled")
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
            self.clf = MarginPathClassifier(random_state=0).fit(data.X, data.y)
        return self.clf

    def judge(self, clf: Any, data: Dataset) -> Facts:
        """Return its steps and its last C."""
        return {"steps": clf.n_iter_, "up to C": clf.models_.bound(clf.n_iter_)}


@dataclass(frozen=True)
class Models:
    """Coefficients (columns, samples, steps) and intercepts (columns, steps); NaN where there is no model."""

    coefficients: np.ndarray
    intercepts: np.ndarray

    @classmethod
    def of_path(cls, clf: Any) -> Models:
        """Return all steps of a fitted classifier."""
        steps = range(1, clf.n_iter_ + 1)
        a = np.array([clf.coefficients(step) for step in steps], dtype=np.float64)
        b = np.array([clf.at(step).intercept_ for step in steps], dtype=np.float64)
        return cls(a.transpose(2, 1, 0), b.T)

    def errors(self, K: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the share of samples whose class is wrong, at every step."""
        f = K @ self.coefficients + self.intercepts[:, None]
        chosen = f[0] > 0 if len(f) == 1 else f.argmax(axis=0)
        wrong = np.mean(chosen != codes[:, None], axis=0)
        return np.where(np.isnan(self.intercepts).any(axis=0), np.nan, wrong)

    def objectives(self, K: np.ndarray, y: np.ndarray, C: np.ndarray, column: int) -> Objectives:
        """Measure one column at every step."""
        a, b = self.coefficients[column], self.intercepts[column]
        return Objectives.of(K, y, coefficients=a, intercepts=b, C=C)


@dataclass
class References:
    """SVC at the C of every step of our path; where it gives up, and for a larger C, there is none."""

    ours: Path
    series: Series = field(default_factory=dict)

    def run(self, data: Dataset) -> Models:
        """Fit each column at every C, one on each core."""
        clf = self.ours.clf
        C, signs = _bounds(clf), class_signs(clf.codes_, len(clf.classes_))
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


def _bounds(clf: Any) -> np.ndarray:
    """Return the C of every step."""
    return np.array([clf.models_.bound(step) for step in range(1, clf.n_iter_ + 1)])


def _fit_column(
    X: np.ndarray, y: np.ndarray, bounds: np.ndarray, gamma: float, workers: ThreadPoolExecutor
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (samples, steps) and intercepts of SVC, up to the first C that takes too long."""
    coefficients, intercepts = np.full((len(y), len(bounds)), np.nan), np.full(len(bounds), np.nan)
    reach = [np.inf]

    def fit(step: int) -> None:
        C = float(bounds[step])
        if reach[0] < C:
            return
        settings = {"tol": 1e-5, "cache_size": peers.CACHE_MB, "max_iter": ITERATIONS}
        model = peers.scikit_svc()(C=C, gamma=gamma, **settings).fit(X, y)
        if model.fit_status_ != 0:
            reach[0] = min(reach[0], C)
            return
        coefficients[:, step], intercepts[step] = 0.0, model.intercept_[0]
        coefficients[model.support_, step] = model.dual_coef_[0]

    list(workers.map(fit, range(len(bounds))))
    beyond = bounds >= reach[0]  # another core may have been there before
    coefficients[:, beyond] = intercepts[beyond] = np.nan
    return coefficients, intercepts


def compare(clf: Any, references: Models, data: Dataset) -> Series:
    """Return the numbers of every step of a fitted classifier beside those of the references.

    Of several columns it is the worst one's at each step. "gap" is proved without any reference, "dual" to
    "scaled" are the excess over it, and "points" is the largest difference of training errors, be it that of
    a column or that of the classifiers.
    """
    ours, C = Models.of_path(clf), _bounds(clf)
    X, X_test = (np.asarray(rows, dtype=np.float64) for rows in (data.X, data.X_test))
    K, across = rbf_kernel(X, gamma=clf.gamma_), rbf_kernel(X_test, X, gamma=clf.gamma_)
    test_codes = np.searchsorted(clf.classes_, np.asarray(data.y_test))
    series = {"C": C, "complete": ~np.isnan(references.intercepts).any(axis=0)}
    for who, models in {OURS: ours, THEIRS: references}.items():
        series[f"training error, {who}"] = models.errors(K, clf.codes_)
        series[f"test error, {who}"] = models.errors(across, test_codes)
    whole = series[f"training error, {OURS}"] - series[f"training error, {THEIRS}"]
    columns = []
    for j, y in enumerate(class_signs(clf.codes_, len(clf.classes_)).T):
        own, reference = (models.objectives(K, y, C, j) for models in (ours, references))
        points = 100 * np.fmax(np.abs(own.error - reference.error), np.abs(whole))
        columns.append({"gap": own.gap, **own.excess(reference), "points": points})
    for name in columns[0]:
        series[name] = np.fmax.reduce([column[name] for column in columns])
    return {name: [_plain(value) for value in values] for name, values in series.items()}


def _plain(value: float) -> float | None:
    """Return five digits, which a file can hold, and None for NaN, which it cannot."""
    return None if np.isnan(value) else float(f"{value:.5g}")


def _numbers(series: Series, name: str) -> np.ndarray:
    return np.array(series[name], dtype=np.float64)


def summary(series: Series) -> Facts:
    """Return how many steps were compared, and how near they are."""
    numbers = {name: _numbers(series, name) for name in series}
    near = _near(series)
    return {
        "steps": len(near),
        "up to C": float(numbers["C"][numbers["complete"] > 0].max(initial=0.0)),
        "within 1e-3, %": 100 * float(np.mean(near)),
        **{name: float(np.nanmax(numbers[name])) for name in (*EXCESS, "gap", "points")},
    }


def _near(series: Series, names: Sequence[str] = EXCESS[:2]) -> np.ndarray:
    """Return whether a step is within 1e-3, for all that were compared."""
    excess = np.max([_numbers(series, name) for name in names], axis=0)
    return np.asarray(excess[~np.isnan(excess)] <= NEAR)


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return the share of all steps that are near, the worst of them, and every one that misses."""
    traced = {e.task: e.series for e in entries if e.series}
    if not traced:
        return {}
    worst = {
        name: max(float(np.nanmax(_numbers(series, name))) for series in traced.values())
        for name in (*EXCESS, "gap", "points")
    }
    near = {
        name: 100 * float(np.mean(np.concatenate([_near(series, [name]) for series in traced.values()])))
        for name in EXCESS
    }
    steps = sum(len(series["C"]) for series in traced.values())
    compared = sum(len(_near(series)) for series in traced.values())
    return {
        "sets": len(traced),
        "steps compared with SVC, of all": f"{compared} of {steps}",
        **{f"{name} objective: % of steps within 1e-3 (wanted: at least 99)": near[name] for name in EXCESS},
        **{f"{name} objective: largest excess (wanted: at most 1e-2)": worst[name] for name in EXCESS},
        "largest proved gap of a step, compared or not": worst["gap"],
        "largest difference of training errors, points (wanted: at most 0.5)": worst["points"],
        **{f"missed, {task}": text for task, series in traced.items() if (text := misses(series))},
    }


def misses(series: Series) -> str:
    """Return the steps that are farther from SVC than wanted, or not proved to be near."""
    rows = zip(*(_numbers(series, name) for name in ("C", *EXCESS, "gap", "points")), strict=True)
    return "; ".join(
        f"C = {C:.3g}: dual {dual:.1e}, primal {primal:.1e} (scaled {scaled:.1e}), gap {gap:.1e}, "
        f"{points:.2f} points"
        for C, dual, primal, scaled, gap, points in rows
        if max(dual, primal) > NEAR or points > POINTS or not gap <= NEAR * (1 + 1e-6)
    )


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
