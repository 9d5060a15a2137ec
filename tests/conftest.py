"""Shared pieces of the tests: data folder, random problems, and naive references."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("fixed")

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"


def pytest_collection_finish():
    """Let no collection of garbage go through what the imports and the list of tests hold to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def reference_folder():
    folder = SHARED / "reference"
    if not folder.is_dir():
        pytest.skip("the trajectories of the authors' program are not on this machine")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _data_folder():
    """Point the loaders at the shared data where there is some and none is set."""
    if not os.environ.get("MARGINPATH_DATA") and (SHARED / "data").is_dir():
        os.environ["MARGINPATH_DATA"] = str(SHARED / "data")


@pytest.fixture
def rng():
    return np.random.default_rng(0)
