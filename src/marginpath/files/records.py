"""The classes that files may hold, each by its bare name: a file can make nothing else."""

from __future__ import annotations

from typing import Any, TypeVar

from ..kernels.functions import Biased, Cosine, Gaussian, Laplacian, Linear, Polynomial
from ..losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    LeastSquares,
    Logistic,
    Quantile,
    SquaredHinge,
)
from ..momentum import FunctionRestart, GradientRestart, Inertia
from ..regularizers import ElasticNet, Ridge
from ..schedules import Constant, GeometricDecay, LogDecay, LongThenShort, PowerDecay
from ..solvers import (
    ClusterSweeps,
    ClusterSweepsState,
    CoordinateDescent,
    CoordinateDescentState,
    DualDescent,
    DualDescentState,
    GradientDescent,
    GradientDescentState,
    HomotopicSubgradient,
    HomotopicSubgradientState,
    MirrorDescent,
    MirrorDescentState,
    NormalizedGradient,
    NormalizedGradientState,
    Pegasos,
    Perceptron,
    ResidualSweeps,
    ResidualSweepsState,
    SmoothPerceptronState,
    SolutionPath,
    SolutionPathState,
    State,
    Subgradient,
    SubgradientState,
)

C = TypeVar("C", bound=type)

_RECORDS: dict[str, type] = {}


def register(cls: C) -> C:
    """Let files hold objects of this class; a decorator, for a solver or a state of your own too.

    It is known by its bare name, wherever it lives. Dataclasses are made anew from their fields, estimators
    of scikit-learn's kind from their attributes.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @register
    ... @dataclass(frozen=True)
    ... class Staircase:
    ...     height: float
    >>> class_named("Staircase")(2.0)
    Staircase(height=2.0)
    """
    if _RECORDS.setdefault(cls.__name__, cls) is not cls:
        raise ValueError(f"Files know another class by the name {cls.__name__}: {_RECORDS[cls.__name__]!r}.")
    return cls


def is_registered(cls: type) -> bool:
    """Whether files may hold objects of exactly this class."""
    return _RECORDS.get(cls.__name__) is cls


def class_named(name: Any) -> type:
    """Return the class of that name; raise ValueError where files may not hold it.

    Examples
    --------
    >>> class_named("TypeVar")
    Traceback (most recent call last):
        ...
    ValueError: The file names 'TypeVar', which is no record of marginpath.
    """
    if not isinstance(name, str) or name not in _RECORDS:
        raise ValueError(f"The file names {name!r}, which is no record of marginpath.")
    return _RECORDS[name]


def registered() -> tuple[type, ...]:
    """Return all classes that files may hold."""
    return tuple(_RECORDS.values())


for _cls in (
    *(Constant, GeometricDecay, LogDecay, LongThenShort, PowerDecay),
    *(Exponential, Hinge, Logistic, SquaredHinge),
    *(Absolute, EpsilonInsensitive, Huber, LeastSquares, Quantile),
    *(ElasticNet, Ridge),
    *(FunctionRestart, GradientRestart, Inertia),
    *(Biased, Cosine, Gaussian, Laplacian, Linear, Polynomial),
    *(CoordinateDescent, CoordinateDescentState, ClusterSweeps, ClusterSweepsState),
    *(SolutionPath, SolutionPathState),
    *(ResidualSweeps, ResidualSweepsState),
    *(DualDescent, DualDescentState),
    *(GradientDescent, GradientDescentState),
    *(HomotopicSubgradient, HomotopicSubgradientState),
    *(MirrorDescent, MirrorDescentState),
    *(NormalizedGradient, NormalizedGradientState),
    *(Perceptron, SmoothPerceptronState),
    *(Pegasos, Subgradient, SubgradientState, State),
):
    register(_cls)
