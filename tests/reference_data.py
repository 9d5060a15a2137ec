"""The data that the authors' program ran on, and where its trajectories are."""

import os
from pathlib import Path

import numpy as np
import pytest

import marginpath as mp

FIXTURES = Path(__file__).parent / "fixtures"


def require_data(name):
    """Skip the test where the data folder lacks a set: tests download nothing."""
    folder = os.environ.get("MARGINPATH_DATA")
    if not folder or not (Path(folder) / name).is_dir():
        pytest.skip(f"needs {name}: set MARGINPATH_DATA to a data folder")


def mnist35():
    require_data("mnist")
    data = mp.datasets.load_mnist((3, 5), dtype=np.float64)
    train = np.concatenate([np.flatnonzero(data.y == sign)[:750] for sign in (-1, 1)])
    return data.X[train], data.y[train], data.X_test, data.y_test, 3.4


def htru2():
    require_data("htru2")
    data = mp.datasets.load_htru2()
    return data.X[:2000], data.y[:2000], data.X[2000:6000], data.y[2000:6000], 4.0


REAL = {"mnist35": mnist35, "htru2": htru2}
