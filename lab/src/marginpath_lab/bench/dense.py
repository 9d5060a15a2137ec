"""`dense`: a thousand dense features, tuned by 5-fold cross-validation, and how fast a sweep over them is.

The features are scikit-learn's Nystroem features of a Gaussian kernel, made before the clock starts. Sweeps,
fifty in a row, are timed alone, beside as many passes that only read the features, the products of the same
shapes, and one large product, which tell what the machine can do: with three columns a thread, a number that
is read takes part in twelve operations, and memory is what limits them. The operations of a sweep are those
of two products of all rows, though rows that do not move are left out of the second: how many move is
counted afterwards. With the sweeps comes what a round of a step does once: w = Xᵀ(Y∘u) by the rows as they
are, where sweeps have read them in 16 bits. rehline has the smaller task; whoever takes many times as long as
we do is ended.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem

from marginpath import parallel
from marginpath.arrays import blocks
from marginpath.datasets import Dataset
from marginpath.gram.linear import interleaved_blocks
from marginpath.gram.scaled import Scaled, in_16_bits
from marginpath.kernels.functions import squared_norms
from marginpath.parallel import for_all, one_blas_thread
from marginpath.solvers.solution_path.feature_columns import Group, Last
from marginpath.solvers.solution_path.feature_rows import DenseRows

from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Entry, Facts, Task
from .ours import LinearClassifier

FEATURES, QUICK_FEATURES = 1000, 60
FOLDS = 5
SWEEP, READ = "fifty sweeps", "— reading their features"
SHAPES, LARGE = "— their products alone", "— one large product"
OPERATIONS, MOVING = "10⁹ operations", "% moving"
_SETTLED = 3  # sweeps before those that are timed
_IN_A_ROW = 50  # of these, as a step has them: without the start of their threads
_BOUND, _GAP = 1.0, 1e-3  # C of these sweeps, and the gap that is asked for
_SIDE = 2048  # of the matrices of the large product


@dataclass(frozen=True)
class Ready:
    """The rows with their blocks, a group of columns for each thread after some sweeps, and copies."""

    rows: DenseRows
    groups: list[Group]
    copies: list[Group]

    @property
    def operations(self) -> float:
        """What the two products of the sweeps take: the scores, and the field."""
        numbers = self.rows.X.numbers.size
        return float(_IN_A_ROW * sum(4 * numbers * group.w.shape[1] for group in self.groups))

    @property
    def moving(self) -> float:
        """The share of rows that move, over all sweeps: these are taken again by the copies, one by one."""
        return float(np.mean([_moved(self.rows, group) for group in self.copies]))


def tasks(quick: bool) -> Iterator[Task]:
    """Yield features of 14,000 made rows, and of nine tenths of ijcnn1, 44,991."""
    yield _task(sets.sized(sets.mixture(14_000), quick), 4.0, quick, all_rivals=True)
    yield _task(sets.sized(sets.held_out(sets.ijcnn1()), quick), 0.5, quick, all_rivals=False)


def _task(rows: Dataset, sigma: float, quick: bool, all_rivals: bool) -> Task:
    data, ours = _features(rows, sigma, QUICK_FEATURES if quick else FEATURES), LinearClassifier()
    grid, seed = {"C": peers.LINEAR_C_GRID}, {"random_state": 0}
    svc = peers.Grid(peers.linear_svc, grid, {"loss": "hinge", **seed})
    sgd = peers.Grid(peers.stochastic, {"alpha": peers.ALPHA_GRID}, seed)
    rehline = peers.Grid(peers.rehline_svm, grid, {"loss": {"name": "svm"}})
    most: dict[str, Any] = {"repeats": 1, "isolated": True, "longest": 30 if all_rivals else 12}
    last = Contestant("rehline SVM, 7 C", rehline, rehline.judge, needs=peers.rehline_svm, target=1, **most)
    contestants = [
        Contestant("marginpath", ours, ours.judge),
        Contestant("LinearSVC, 7 C", svc, svc.judge, target=10, **most),
        *([last] if all_rivals else []),
        Contestant("SGDClassifier, 7 α", sgd, sgd.judge, target=1),
        Contestant(SWEEP, _in_threads(_swept), _sweeps_work, _ready),
        Contestant(READ, _in_threads(_read), _work, _ready),
        Contestant(SHAPES, _in_threads(_multiplied), _work, _ready),
        Contestant(LARGE, _large_products, _large_work),
    ]
    name = sets.title(data, f", {data.X.shape[1]:,} features")
    return Task(name, data, sets.part(data, sets.SMALL), contestants, slack=0.001)


def _features(data: Dataset, sigma: float, count: int) -> Dataset:
    """Return the data with features for its columns."""
    made = Nystroem(gamma=peers.gamma(sigma), n_components=count, random_state=0).fit(data.X)
    X, X_test = (made.transform(X).astype(np.float32) for X in (data.X, data.X_test))
    return replace(data, X=X, X_test=X_test)


def _ready(data: Dataset) -> Ready:
    """Cut five folds and all the data into groups of three columns, as a path does, and sweep a few times."""
    n = len(data.y)
    fold = np.random.default_rng(0).integers(0, FOLDS, n)
    mass = np.column_stack([*(fold != number for number in range(FOLDS)), np.ones(n)]).astype(float)
    X, rounded = Scaled.of(data.X), in_16_bits(data.X)
    rows = DenseRows(X, squared_norms(data.X), interleaved_blocks(X), rounded=lambda: rounded)
    groups = [_group(data, part) for part in np.hsplit(mass, 2)]
    for group in groups:
        _swept(rows, group, _SETTLED)
    return Ready(rows, groups, copy.deepcopy(groups))


def _group(data: Dataset, mass: np.ndarray) -> Group:
    """Return columns at u = 0, with an intercept, as the rows sweep over them."""
    n, k = mass.shape
    u, w = np.zeros((n, k)), np.zeros((data.X.shape[1], k), dtype=data.X.dtype)
    y, bound, offset = np.repeat(data.y[:, None], k, axis=1).astype(float), np.full(k, _BOUND), np.zeros(k)
    rho = np.full(k, 0.1 * float(np.mean(np.sum(data.X**2, axis=1))))
    last = Last(u, w, offset, bound)
    return Group([y, mass, u, w], [bound, offset, rho], last, _GAP, k, lambda: False)


def _in_threads(work: Callable[[DenseRows, Group, int], None]) -> Callable[[Ready], None]:
    """Return the work on all groups, so many times in a row, on as many cores."""

    def run(ready: Ready) -> None:
        with one_blas_thread():
            workers = min(len(ready.groups), parallel.available())
            for_all(lambda group: work(ready.rows, group, _IN_A_ROW), ready.groups, workers, lambda: None)

    return run


def _swept(rows: DenseRows, group: Group, times: int) -> None:
    group.improve(rows, np.random.default_rng(0), sweeps=times)


def _moved(rows: DenseRows, group: Group) -> float:
    """Sweep as often, and return the mean share of the rows that move in a sweep."""
    rng, shares = np.random.default_rng(0), []
    for _ in range(_IN_A_ROW):
        before = group.u.copy()
        group.improve(rows, rng)
        shares.append(float(np.mean(np.any(group.u != before, axis=1))))
    return float(np.mean(shares))


def _multiplied(rows: DenseRows, group: Group, times: int) -> None:
    """Take the products of sweeps, block by block, and no steps."""
    for a, b in [*blocks(len(rows.X), rows.blocks.shape[1])] * times:
        block = rows.X[a:b]
        block.T @ (block @ group.w)


def _read(rows: DenseRows, group: Group, times: int) -> None:
    """Read the features as often, block by block, as they lie."""
    for a, b in [*blocks(len(rows.X), rows.blocks.shape[1])] * times:
        block = rows.X[a:b].ravel()
        block @ block


def _work(ready: Any, data: Ready) -> Facts:
    return {OPERATIONS: data.operations / 1e9}


def _sweeps_work(ready: Any, data: Ready) -> Facts:
    return {**_work(ready, data), MOVING: 100 * data.moving}


def _large_products(data: Any) -> None:
    """Multiply two large matrices on every core."""
    A, cores = np.ones((_SIDE, _SIDE), dtype=np.float32), parallel.available()

    def multiply(number: int) -> None:
        A @ A

    with one_blas_thread():
        for_all(multiply, range(cores), cores, lambda: None)


def _large_work(model: Any, data: Any) -> Facts:
    return {OPERATIONS: 2e-9 * _SIDE**3 * parallel.available()}


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return the share of the rates of plain products that a sweep has."""
    shares: dict[str, float | str] = {}
    for task in dict.fromkeys(entry.task for entry in entries):
        timed = [e for e in entries if e.task == task and OPERATIONS in e.facts]
        rates = {e.contestant: float(e.facts[OPERATIONS]) / e.median for e in timed if e.median}
        beside = {
            READ: "the pace at which its features are read",
            SHAPES: "the rate of its products alone",
            LARGE: "that of one large product (wanted: at least 0.5)",
        }
        for other, words in beside.items():
            if {SWEEP, other} <= rates.keys():
                shares[f"{task}: rate of a sweep over {words}"] = rates[SWEEP] / rates[other]
        moving = [float(e.facts[MOVING]) / 100 for e in timed if MOVING in e.facts]
        if moving and LARGE in rates:
            done = (1 + moving[0]) / 2 * rates[SWEEP] / rates[LARGE]
            shares[f"{task}: the same, without the products of rows that do not move"] = done
    return shares


BENCHMARK = Benchmark("dense", "how long to tune a linear classifier on dense features?", tasks, conclude)
