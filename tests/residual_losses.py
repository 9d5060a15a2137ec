"""The losses of the residual, each with its definition."""

import numpy as np
import pytest

import marginpath as mp

#: Each with its definition, and (ε, c, p, q).
LOSSES = {
    mp.LeastSquares(): (lambda r: r * r / 2, (0, 1, np.inf, np.inf)),
    mp.Absolute(): (abs, (0, 0, 1, 1)),
    mp.Huber(0.7): (lambda r: r * r / 2 if abs(r) <= 0.7 else 0.7 * abs(r) - 0.245, (0, 1, 0.7, 0.7)),
    mp.EpsilonInsensitive(0.3): (lambda r: max(0.0, abs(r) - 0.3), (0.3, 0, 1, 1)),
    mp.Quantile(0.8): (lambda r: 0.8 * r if r >= 0 else -0.2 * r, (0, 0, 0.2, 0.8)),
}
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
