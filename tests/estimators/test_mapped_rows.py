"""Rows in a memory-mapped file: they are used where they are."""

import subprocess
import sys

import numpy as np
import psutil
import pytest
from sklearn.datasets import make_moons

import marginpath as mp

#: The memory of its own that a fit takes at most, pages of the file not counted.
CHILD = """
import sys, threading, warnings
import numpy as np, psutil
import marginpath as mp

warnings.simplefilter("ignore")
process, peak, done = psutil.Process(), 0, threading.Event()
X, y = (np.load(f"{sys.argv[1]}/{name}.npy", mmap_mode="r") for name in "Xy")

def own():
    info = process.memory_info()
    return info.rss - info.shared

def watch():
    global peak
    while not done.wait(0.005):
        peak = max(peak, own())

clf = mp.MarginPathClassifier(landmarks=16, stopping="holdout", max_iter=2, n_jobs=1, random_state=0)
clf.fit(X[:10_000], y[:10_000])  # so that all code is loaded
before = own()
thread = threading.Thread(target=watch)
thread.start()
clf.fit(X, y).predict(X[:10])
done.set()
thread.join()
print(peak - before)
"""


@pytest.fixture
def mapped(tmp_path):
    X, y = make_moons(300, noise=0.3, random_state=0)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    return np.load(tmp_path / "X.npy", mmap_mode="r"), y


def test_a_fit_is_the_same_and_leaves_the_rows_in_the_file(mapped):
    X, y = mapped
    settings = {"landmarks": 30, "random_state": 0}
    there, here = (mp.MarginPathClassifier(**settings).fit(rows, y) for rows in (X, np.array(X)))
    assert np.shares_memory(there.X_fit_, X)
    np.testing.assert_array_equal(there.decision_function(X), here.decision_function(np.array(X)))
    np.testing.assert_array_equal(there.predict_proba(X), here.predict_proba(np.array(X)))
    assert there.disagreement(X, n_rows=200) < 0.1
    assert there.refine(X, y, landmarks=40).trace_error_ < here.trace_error_


@pytest.mark.heavy
@pytest.mark.skipif(not psutil.LINUX, reason="tells pages of files from others on Linux")
def test_a_fit_copies_no_file_into_memory(tmp_path):
    n, d = 100_000, 600
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(n, d))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    for a in range(0, n, 10_000):
        X[a : a + 10_000] = rng.standard_normal((10_000, d), dtype=np.float32) + 0.1 * y[a : a + 10_000, None]
    X.flush()
    np.save(tmp_path / "y.npy", y)
    taken = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)], capture_output=True, text=True, check=True, timeout=600
    )
    assert int(taken.stdout) < 0.5 * X.nbytes, taken.stdout
