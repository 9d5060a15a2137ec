"""cache_size and precision of the kernel classifier, whatever the memory at hand."""

import logging

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

import marginpath as mp
from marginpath.gram import choose, filling

X, Y = make_moons(100, noise=0.3, random_state=0)  # a stored matrix takes 80 kB


def places(caplog):
    return ["in tiles" if "in tiles" in record.message else "stored" for record in caplog.records]


@pytest.mark.parametrize("gamma", ["scale", "tuned"])
def test_a_precision_of_numpy_arrays_is_refused(gamma):
    classifier = mp.MarginPathClassifier(gamma=gamma, precision="tf32")
    for samples in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match=r"precision='tf32' is for torch tensors on a GPU, and X is a"):
            classifier.fit(samples, Y)


def test_a_linear_kernel_has_no_precision():
    with pytest.raises(ValueError, match="and a linear kernel has none"):
        mp.MarginPathClassifier("linear", precision="float32").fit(X, Y)


@pytest.mark.parametrize(("megabytes", "place"), [("auto", "stored"), (0.08, "stored"), (0.0799, "in tiles")])
def test_cache_size_decides(megabytes, place, caplog):
    caplog.set_level(logging.INFO, logger="marginpath")
    mp.MarginPathClassifier(cache_size=megabytes, max_iter=3, stopping=None).fit(X, Y)
    assert places(caplog) == [place]


def test_a_fit_takes_tiles_where_memory_is_short(monkeypatch, caplog):
    settings = {"method": "inertial", "max_iter": 50, "stopping": None}
    expected = mp.MarginPathClassifier(**settings).fit(X, Y).decision_function(X)
    for module in (choose, filling):
        monkeypatch.setattr(module, "available_memory", lambda: 79_999)
    caplog.set_level(logging.INFO, logger="marginpath")
    found = mp.MarginPathClassifier(**settings).fit(X, Y).decision_function(X)
    assert places(caplog) == ["in tiles"]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize(("free", "shared"), [(200_000, True), (199_999, False)])
def test_widths_share_distances_where_two_matrices_fit(free, shared, monkeypatch, caplog):
    expected = mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(X, Y)
    for module in (choose, filling):
        monkeypatch.setattr(module, "available_memory", lambda: free)
    caplog.set_level(logging.INFO, logger="marginpath")
    found = mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(X, Y)
    table = found.width_results_
    known = ~np.isnan(table["score"])  # on all rows: they are few
    paths = np.sum(known) + np.sum(table["chosen"] & ~known) + 1  # short ones, and the winner's
    assert places(caplog) == ([] if shared else ["stored"] * paths)
    assert found.gamma_ == expected.gamma_
