"""Features that are larger than the memory for them: they lie in a file, and nothing else changes."""

import logging
import pickle
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from sklearn.datasets import make_blobs, make_moons

import marginpath as mp
from marginpath.gram.choose import choose_gram, feature_room
from marginpath.mapped import MEMORY, in_file

#: The memory of its own that a fit takes at most, pages of files not counted.
CHILD = """
import threading
from pathlib import Path
import numpy as np
import marginpath as mp

def own():
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(lines["RssAnon"].split()[0])

def watch():
    global peak
    while not done.wait(0.005):
        peak = max(peak, own())

rng = np.random.default_rng(0)
X = rng.standard_normal((200_000, 10), dtype=np.float32)
y = (np.abs(X).sum(axis=1) + rng.standard_normal(len(X)) > 8).astype(int)
clf = mp.MarginPathClassifier(landmarks=500, max_iter=12, cache_size=300, n_jobs=2, random_state=0)
clf.fit(X[:10_000], y[:10_000])  # so that all code is loaded
peak, done = 0, threading.Event()
before, thread = own(), threading.Thread(target=watch)
thread.start()
clf.fit(X, y)
done.set()
thread.join()
print(peak - before)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Let files lie there, and few rows be swept over as many are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("marginpath.solvers.solution_path.solver.FEW", 256)
    monkeypatch.setattr("marginpath.gram.choose._SWEPT", 256)
    monkeypatch.setattr("marginpath.gram.features._ROWS", 128)
    return tmp_path


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(1000, noise=0.3, random_state=0)
    return X.astype(np.float32), y


def there_and_here(X, y, **settings):
    """Return a classifier on features in a file, and one on features in memory."""
    settings = {"landmarks": 60, "random_state": 0, **settings}
    return [mp.MarginPathClassifier(cache_size=size, **settings).fit(X, y) for size in (0.1, 100.0)]


def assert_same(there, here, X):
    np.testing.assert_array_equal(there.decision_function(X), here.decision_function(X))
    np.testing.assert_array_equal(there.path_.last.u, here.path_.last.u)
    np.testing.assert_array_equal(there.out_of_fold_, here.out_of_fold_)
    np.testing.assert_array_equal(there.margin_bounds_, here.margin_bounds_)


@pytest.mark.filterwarnings("ignore:max_iter=30 was reached")
@pytest.mark.parametrize(
    "settings",
    [{}, {"path_tol": 1e-5}, {"stopping": "holdout", "n_jobs": 1}, {"method": "inertial", "max_iter": 30}],
    ids=str,
)
def test_a_fit_is_the_same_to_the_bit(settings, moons):
    assert_same(*there_and_here(*moons, **settings), moons[0])


def test_several_classes_too():
    X, y = make_blobs(600, centers=4, cluster_std=3.0, random_state=1)
    for multi_class in ("ovr", "ovo"):
        assert_same(*there_and_here(X, y, multi_class=multi_class), X)


def test_a_certified_margin_too():
    X, y = make_blobs(300, centers=2, random_state=1)
    there, here = there_and_here(X, y, stopping="margin", max_iter=20)
    np.testing.assert_array_equal(there.decision_function(X), here.decision_function(X))
    np.testing.assert_array_equal(there.margin_bounds_, here.margin_bounds_)


def test_tuned_refined_and_asked_for_their_disagreement_too(moons):
    X, y = moons
    there, here = there_and_here(X, y, gamma="tuned", landmarks=20)
    assert there.gamma_ == here.gamma_
    assert there.disagreement(X, random_state=0) == here.disagreement(X, random_state=0)
    assert_same(*(clf.refine(X, y, landmarks=70) for clf in (there, here)), X)


def test_where_features_lie(moons):
    X, _ = moons
    settings = {"landmarks": 50, "seed": 0}
    there, here = (choose_gram(X, mp.Gaussian(1.0), memory=size, **settings) for size in (1e5, 1e8))
    assert in_file(there.features)
    assert in_file(there.interleaved)
    assert not in_file(here.features)
    assert there.trace_error == here.trace_error
    np.testing.assert_array_equal(there.features, here.features)
    np.testing.assert_array_equal(there.interleaved, here.interleaved)
    assert not in_file(choose_gram(X, mp.Gaussian(1.0), **settings).features)


def test_what_auto_takes_is_in_memory():
    for n, landmarks, memory in ((50_000, 1788, 4e9), (1_000_000, 372, 4e9), (1_000_000, 122, 2e9)):
        assert feature_room(n, landmarks, memory) is MEMORY
    assert feature_room(1_000_000, 373, 4e9).most < 2e9


def test_nothing_is_left_of_the_file(moons, folder):
    there, here = there_and_here(*moons)
    assert not list(folder.iterdir())
    if psutil.LINUX:
        with open("/proc/self/maps") as lines:
            assert str(folder) not in lines.read()
    assert len(pickle.dumps(there)) == len(pickle.dumps(here))
    assert len(pickle.dumps(there.slim())) == len(pickle.dumps(here.slim()))


def test_the_logger_tells_of_the_file_and_how_far_it_is(moons, folder, caplog):
    with caplog.at_level(logging.INFO, "marginpath"):
        there, _ = there_and_here(*moons)
    lines = [line for line in caplog.messages if "eatures" in line]
    size = f"{2 * 1000 * len(there.landmarks_) / 1e9:.3g} GB"
    assert lines[0].startswith(f"The features of 1,000 samples take {size}, more than memory has room for")
    assert lines[0].endswith(f"they lie in a file in {folder}.")
    assert lines[1] == "Features are made of 128 of 1,000 rows."
    assert lines[-1] == "Features are made of 1,000 of 1,000 rows."
    assert len(lines) == 1 + 8


def test_a_disk_without_room_says_what_to_do(moons, folder, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=1000))
    clf = mp.MarginPathClassifier(landmarks=60, cache_size=0.1, random_state=0)
    with pytest.raises(
        OSError, match=r"features takes 0\.000\d+ GB, and .* has 1e-06 GB left\. Set TMPDIR .*cache_size"
    ):
        clf.fit(*moons)
    assert not hasattr(clf, "path_")
    assert not list(folder.iterdir())


@pytest.mark.heavy
@pytest.mark.skipif(not psutil.LINUX, reason="tells pages of files from others on Linux")
def test_a_fit_stays_within_its_memory(folder):
    """Features take 400 MB, the Gram matrices of their blocks 100."""
    ran = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, check=True, timeout=600
    )
    assert int(ran.stdout) < 300e6, ran.stdout
