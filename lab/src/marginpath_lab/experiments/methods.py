"""The methods that are compared: what each one is proved to do, and the solver that does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import marginpath as mp

LAMBDA0 = 1.0  # of Algorithms 1 and 2, as in the paper's runs on MNIST


@dataclass(frozen=True)
class Method:
    """A method with its proved margin rate, as text for a page, and its solver.

    Attributes
    ----------
    name : str
        What tables and pictures call it.
    loss, rate, assumptions, source : str
        The loss it descends on, the proved order of the margin gap, what the proof asks for beyond
        separable samples (v* = −u*, the hard-margin dual solution; L = ‖K‖), and where it is.
    update : str
        What one update reads of the Gram matrix.
    solver : callable
        max v* → solver. Only a method with a fixed λ makes use of that number.
    """

    name: str
    loss: str
    rate: str
    assumptions: str
    source: str
    update: str
    solver: Callable[[float], Any]


_PRODUCT, _ROW, _SWEEP = "one product", "one row", "a sweep: up to n rows"

METHODS: tuple[Method, ...] = (
    Method(
        "gradient descent, exponential",
        "exponential",
        "1/log t",
        "constant step, at most 1/smoothness",
        "Soudry et al. 2018",
        _PRODUCT,
        lambda size: mp.GradientDescent(),
    ),
    Method(
        "gradient descent, logistic",
        "logistic",
        "1/log t",
        "constant step, at most 1/smoothness",
        "Soudry et al. 2018",
        _PRODUCT,
        lambda size: mp.GradientDescent(mp.Logistic()),
    ),
    Method(
        "normalized gradient",
        "exponential",
        "log t/√t",
        "steps of length 1/√t, samples of length at most 1",
        "Nacson et al. 2019",
        _PRODUCT,
        lambda size: mp.NormalizedGradient(),
    ),
    Method(
        "mirror descent",
        "exponential, smoothed margin",
        "1/t",
        "samples of length at most 1",
        "Ji and Telgarsky 2021",
        _PRODUCT,
        lambda size: mp.MirrorDescent(),
    ),
    Method(
        "accelerated mirror descent",
        "exponential, smoothed margin",
        "log t/t²",
        "samples of length at most 1",
        "Ji, Srebro and Telgarsky 2021",
        _PRODUCT,
        lambda size: mp.MirrorDescent(accelerated=True),
    ),
    Method(
        "perceptron",
        "perceptron",
        "1/√t",
        "normalized samples",
        "Ramdas and Peña 2016",
        _ROW,
        lambda size: mp.Perceptron(),
    ),
    Method(
        "smooth perceptron",
        "smoothed perceptron",
        "none; separates after O(√(log n)/margin)",
        "normalized samples",
        "Ramdas and Peña 2014",
        _PRODUCT,
        lambda size: mp.Perceptron(smooth=True),
    ),
    Method(
        "subgradient",
        "hinge",
        "none; ends at zero loss",
        "steps γ/√t",
        "paper, Section 3",
        _PRODUCT,
        lambda size: mp.Subgradient(),
    ),
    Method(
        "homotopic subgradient",
        "hinge",
        "about 1/t^(1/6)",
        "λ falls in stages (here: our variant)",
        "Molitor, Needell and Ward 2020",
        _PRODUCT,
        lambda size: mp.HomotopicSubgradient(),
    ),
    Method(
        "Pegasos",
        "hinge",
        "none; objective like log t/(λt)",
        "fixed λ (here: 1/max v*, the largest that leads to w*)",
        "Shalev-Shwartz et al. 2011",
        _ROW,
        lambda size: mp.Pegasos(1 / size, seed=0),
    ),
    Method(
        "Algorithm 1",
        "hinge",
        "linear, (1 − ρ)^(t/2)",
        "γ < 2/L, λ_1 ≤ 1/max v*",
        "paper, Theorem 1",
        _PRODUCT,
        lambda size: mp.DualDescent(mp.PowerDecay(LAMBDA0)),
    ),
    Method(
        "Algorithm 2, α = 3",
        "hinge",
        "1/t",
        "γ ≤ 1/L, α ≥ 3, λ_1 ≤ 1/max v*",
        "paper, Theorem 2",
        _PRODUCT,
        lambda size: mp.DualDescent(mp.PowerDecay(LAMBDA0), momentum=mp.Inertia(3)),
    ),
    Method(
        "Algorithm 2, α = 30",
        "hinge",
        "1/t",
        "γ ≤ 1/L, α ≥ 3, λ_1 ≤ 1/max v*",
        "paper, Theorem 2",
        _PRODUCT,
        lambda size: mp.DualDescent(mp.PowerDecay(LAMBDA0), momentum=mp.Inertia(30)),
    ),
    Method(
        "coordinate descent",
        "hinge",
        "none",
        "λ falls by a factor of 1.5 a sweep",
        "this package",
        _SWEEP,
        lambda size: mp.CoordinateDescent(seed=0, threads=1),
    ),
)

#: The same by name.
BY_NAME: dict[str, Method] = {method.name: method for method in METHODS}

#: From the largest gap at 10,000 updates to the smallest: what an independent run on such samples gave.
EXPECTED_ORDER: tuple[str, ...] = (
    "gradient descent, exponential",
    "normalized gradient",
    "mirror descent",
    "perceptron",
    "accelerated mirror descent",
    "Algorithm 1",
    "Algorithm 2, α = 3",
    "Algorithm 2, α = 30",
)
