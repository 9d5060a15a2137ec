"""Probabilities from decision values: one temperature, so that the order of the classes stays."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax


def fit_temperature(decision: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return T > 0 that makes f/T the most likely log-odds (two classes) or logits of the labels.

    Temperature scaling (Guo et al., ICML 2017) of decision values that did not see the labels they are
    compared with. Rows with NaN, which no fold held out, do not count.

    Examples
    --------
    >>> round(fit_temperature(np.array([2.0, -2.0, 2.0, -2.0]), np.array([1, 0, 0, 1])), 3) > 100
    True
    """
    known = np.isfinite(decision.reshape(len(decision), -1)).all(axis=1)
    logits, codes = _logits(decision[known].astype(np.float64)), codes[known]
    share = np.ones(len(codes)) if weight is None else weight[known]
    scale = float(np.mean(np.abs(logits))) or 1.0

    def loss(log_temperature: float) -> float:
        chance = log_softmax(logits / (scale * np.exp(log_temperature)), axis=1)
        return -float(share @ chance[np.arange(len(codes)), codes])

    found = minimize_scalar(loss, bounds=(-10.0, 10.0), method="bounded")
    return scale * float(np.exp(found.x))


def probabilities(decision: np.ndarray, temperature: float) -> np.ndarray:
    """Return the probability of every class, (n, classes).

    Examples
    --------
    >>> probabilities(np.array([0.0, 1.0]), 1.0).round(3)
    array([[0.5  , 0.5  ],
           [0.269, 0.731]])
    """
    if decision.ndim == 1:
        positive = expit(decision / temperature)
        return np.stack([1 - positive, positive], axis=1)
    return np.asarray(softmax(decision / temperature, axis=1))


def _logits(decision: np.ndarray) -> np.ndarray:
    return np.stack([np.zeros_like(decision), decision], axis=1) if decision.ndim == 1 else decision
