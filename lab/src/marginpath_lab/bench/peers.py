"""The rivals: what people use today, with their own best settings. Each is imported when its turn comes."""

from __future__ import annotations

import os
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from marginpath.datasets import Dataset
from marginpath.extras import require

from .machine import cores
from .measure import Facts

#: The grid of C for kernels, and the one for linear classifiers.
C_GRID = tuple(float(C) for C in np.logspace(-2, 4, 13))
LINEAR_C_GRID = tuple(float(C) for C in np.logspace(-3, 3, 7))
#: The grid of α for stochastic gradients.
ALPHA_GRID = tuple(float(alpha) for alpha in np.logspace(-6, 0, 7))
#: Megabytes for rows of the kernel: LIBSVM's default of 200 is too small for 12,000 samples.
CACHE_MB = 1000


#: Gradient boosting stops by itself; how fast it learns is searched.
BOOSTING = {"max_iter": 300, "early_stopping": True, "random_state": 0}
BOOSTING_GRID = {"learning_rate": (0.03, 0.1, 0.3)}
#: LightGBM does not stop by itself without samples held out for it: small trees are searched too.
LIGHTGBM = {"n_estimators": 300, "random_state": 0, "n_jobs": 1, "verbose": -1}
LIGHTGBM_GRID = {"learning_rate": (0.03, 0.1, 0.3), "num_leaves": (7, 31)}


def boosting() -> Any:
    """Return scikit-learn's HistGradientBoostingClassifier."""
    return import_module("sklearn.ensemble").HistGradientBoostingClassifier


def lightgbm() -> Any:
    """Return LightGBM's classifier."""
    return _imported("lightgbm", "LightGBM").LGBMClassifier


def scikit_svc() -> Any:
    """Return scikit-learn's SVC."""
    return import_module("sklearn.svm").SVC


def linear_svc() -> Any:
    """Return scikit-learn's LinearSVC."""
    return import_module("sklearn.svm").LinearSVC


def stochastic() -> Any:
    """Return scikit-learn's SGDClassifier."""
    return import_module("sklearn.linear_model").SGDClassifier


def rehline_svm() -> Any:
    """Return the classifier of rehline, which takes the hinge loss among others."""
    return _imported("rehline", "rehline").plq_Ridge_Classifier


def intelex_svc() -> Any:
    """Return the SVC of scikit-learn-intelex; scikit-learn itself is not patched."""
    with quiet():
        return _imported("sklearnex.svm", "scikit-learn-intelex").SVC


def scikit_svr() -> Any:
    """Return scikit-learn's SVR."""
    return import_module("sklearn.svm").SVR


def intelex_svr() -> Any:
    """Return the SVR of scikit-learn-intelex; scikit-learn itself is not patched."""
    with quiet():
        return _imported("sklearnex.svm", "scikit-learn-intelex").SVR


def liquid_svm() -> Any:
    """Return liquidSVM."""
    with quiet(), _older_python():
        try:
            return _imported("liquidSVM", "liquidSVM")
        except (NameError, OSError) as error:  # it does not check whether its library was found
            raise ImportError(f"liquidSVM cannot load its library ({error})") from error


@contextmanager
def _older_python() -> Iterator[None]:
    """Give liquidSVM what it asks for when imported: the setting SO, and pkg_resources, not used by us."""
    actual, stand_in = sysconfig.get_config_var, "pkg_resources" not in sys.modules
    if stand_in:
        sys.modules["pkg_resources"] = ModuleType("pkg_resources")
    try:
        with mock.patch.object(sysconfig, "get_config_var", lambda n: ".so" if n == "SO" else actual(n)):
            yield
    finally:
        if stand_in:
            del sys.modules["pkg_resources"]


def _imported(module: str, package: str) -> Any:
    return require(module, extra="peers", of="marginpath-lab", what=f"Comparisons with {package}")


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings, such as those about convergence, in this process and in workers started now."""
    with warnings.catch_warnings(), mock.patch.dict(os.environ, PYTHONWARNINGS="ignore"):
        warnings.simplefilter("ignore")
        yield


def gamma(sigma: float) -> float:
    """Return scikit-learn's gamma of the kernel exp(−d²/(2σ²)).

    Examples
    --------
    >>> gamma(2.0)
    0.125
    """
    return 1 / (2 * sigma**2)


@dataclass(frozen=True)
class Fit:
    """One fit of an estimator."""

    estimator: Callable[[], Any]
    settings: Mapping[str, Any]

    def __call__(self, data: Dataset) -> Any:
        """Return the fitted estimator."""
        with quiet():
            return self.estimator()(**self.settings).fit(data.X, data.y)

    def judge(self, model: Any, data: Dataset) -> Facts:
        """Return the test error."""
        return {"test error": float(np.mean(model.predict(data.X_test) != data.y_test)), "C": model.C}


@dataclass(frozen=True)
class Grid:
    """Choose the settings of an estimator by GridSearchCV: 5 folds, a refit, a worker on each core."""

    estimator: Callable[[], Any]
    grid: Mapping[str, Sequence[float]]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, data: Dataset) -> Any:
        """Return the finished search."""
        with quiet():
            model = self.estimator()(**self.settings)
            grid = {name: list(values) for name, values in self.grid.items()}
            return GridSearchCV(model, grid, cv=5, n_jobs=cores()).fit(data.X, data.y)

    def judge(self, search: Any, data: Dataset) -> Facts:
        """Return the test error and the chosen settings."""
        error = float(np.mean(search.predict(data.X_test) != data.y_test))
        return {"test error": error, "CV error": 1 - float(search.best_score_), **_named(search.best_params_)}


@dataclass(frozen=True)
class NystroemGrid(Grid):
    """The same on Nystroem features of the Gaussian kernel, which are made once for all folds."""

    sigma: float = 1.0
    components: int = 100

    def __call__(self, data: Dataset) -> Any:
        """Return the pipeline of features and finished search."""
        count = min(self.components, len(data.y))
        features = Nystroem(gamma=gamma(self.sigma), n_components=count, random_state=0)
        grid = {name: list(values) for name, values in self.grid.items()}
        with quiet():
            search = GridSearchCV(self.estimator()(**self.settings), grid, cv=5, n_jobs=cores())
            return make_pipeline(features, search).fit(data.X, data.y)

    def judge(self, model: Any, data: Dataset) -> Facts:
        """Return the test error, the chosen settings and the number of landmarks."""
        features, search = model[0], model[-1]
        facts = super().judge(search, replace(data, X_test=features.transform(data.X_test)))
        return {**facts, "landmarks": len(features.component_indices_)}


@dataclass(frozen=True)
class LiquidGrid:
    """liquidSVM's own search: its 10 λ, 5 folds, the widths given.

    Its gamma is a width, k(x, z) = exp(−d²/γ²), so that γ = σ√2.
    """

    sigmas: tuple[float, ...]

    def __call__(self, data: Dataset) -> Any:
        """Return the model, trained and selected."""
        widths = [float(2**0.5 * sigma) for sigma in self.sigmas]
        with _same_cores():
            return liquid_svm().mcSVM(data.X, data.y, gammas=widths, folds=5, threads=cores(), display=0)

    def judge(self, model: Any, data: Dataset) -> Facts:
        """Return the test error; its predict() does not work for the labels ±1, test() does."""
        with _same_cores():
            decided = model.test(data.X_test, data.y_test)[0][:, 0]
        chosen = float(np.median(model.errSelect[:, 3])) / 2**0.5
        return {"test error": float(np.mean(decided != data.y_test)), "sigma": chosen}


@contextmanager
def _same_cores() -> Iterator[None]:
    """Give the thread its cores back: liquidSVM leaves it bound to one, and all that follows with it."""
    if not hasattr(os, "sched_getaffinity"):
        yield
        return
    own = os.sched_getaffinity(0)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def _named(settings: Mapping[str, float]) -> dict[str, float]:
    """Give scikit-learn's gamma the name of what it stands for."""
    named = {name: float(value) for name, value in settings.items()}
    if "gamma" in named:
        named["sigma"] = (2 * named.pop("gamma")) ** -0.5
    return named
