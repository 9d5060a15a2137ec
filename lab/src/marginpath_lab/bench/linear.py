"""`linear`: sparse features, tuned by 5-fold cross-validation, one against the rest for 20 classes."""

from __future__ import annotations

from collections.abc import Iterator

from marginpath.datasets import Dataset

from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Task
from .ours import LinearClassifier


def tasks(quick: bool) -> Iterator[Task]:
    """Yield 20 Newsgroups and a9a, with the same settings for both."""
    yield _task(sets.newsgroups(), quick)
    yield _task(sets.a9a(), quick)


def _task(whole: Dataset, quick: bool) -> Task:
    data, ours = sets.sized(whole, quick), LinearClassifier()
    svc = peers.Grid(peers.linear_svc, {"C": peers.LINEAR_C_GRID}, {"loss": "hinge", "random_state": 0})
    sgd = peers.Grid(peers.stochastic, {"alpha": peers.ALPHA_GRID}, {"random_state": 0})
    hinge = {"loss": {"name": "svm"}, "multi_class": "ovr"}
    rehline = peers.Grid(peers.rehline_svm, {"C": peers.LINEAR_C_GRID}, hinge)
    contestants = [
        Contestant("marginpath", ours, ours.judge),
        Contestant("LinearSVC, 7 C", svc, svc.judge, target=5),
        Contestant("rehline SVM, 7 C", rehline, rehline.judge, needs=peers.rehline_svm),
        Contestant("SGDClassifier, 7 α", sgd, sgd.judge),
    ]
    return Task(sets.title(data), data, sets.part(whole, sets.SMALL), contestants, slack=0.002)


BENCHMARK = Benchmark("linear", "how long to tune a linear classifier on sparse features?", tasks)
