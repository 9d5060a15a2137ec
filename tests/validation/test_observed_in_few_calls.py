"""What is observed at every step, in compiled loops and one pass over the folds: by definition the same."""

from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest

import marginpath as mp
from marginpath.validation.columns import columns_for
from marginpath.validation.cross_validation import PathValidation
from marginpath.validation.proper import log_loss
from marginpath.validation.scores import OutOfFold
from marginpath.validation.short_path import _is_any_at_bound


@pytest.fixture
def held_out():
    """Decision values of pairs of four classes by five folds and all the data, and who judges them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 90)
    columns = columns_for(4, "ovo")
    splits = np.array_split(rng.permutation(90), 5)
    scores = rng.normal(size=(90, 6, 6)) - 0.8 * columns.signs(labels)[:, :, None]
    return labels, columns, splits, scores.reshape(90, 36)


def judged(held_out, splits=None, weight=None):
    labels, columns, own, _ = held_out
    return OutOfFold(own if splits is None else splits, columns, labels, np.arange(4), None, weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_scores_and_hinge_are_those_of_each_fold(held_out, order, weighted):
    labels, columns, splits, scores = held_out
    weight = np.random.default_rng(1).random(90) + 0.1 if weighted else None
    state = SimpleNamespace(t=1, scores=np.asarray(scores, order=order), offset=0.0, packed=None)
    judge = judged(held_out, weight=weight)
    own, signs, loss, mass = scores.reshape(90, 6, 6), columns.signs(labels), 0.0, 0.0
    w = np.ones(90) if weight is None else weight
    for j, (test, score) in enumerate(zip(splits, judge.scores(None, state), strict=True)):
        f = -own[test, :, j]
        right = columns.values(f).argmax(axis=1) == labels[test]
        assert score == pytest.approx(np.average(right, weights=w[test]))
        counts = signs[test] != 0
        loss += np.sum(w[test, None] * counts * np.maximum(0, 1 - signs[test] * f))
        mass += np.sum(w[test, None] * counts)
        np.testing.assert_allclose(judge.decisions(None, state)[test], f, rtol=1e-6)
    assert float(judge.hinge(None, state)) == pytest.approx(loss / mass)
    plain = SimpleNamespace(t=1, scores=state.scores, packed=None)
    assert float(judged(held_out, weight=weight).hinge(None, plain)) == pytest.approx(loss / mass, rel=1e-5)


def test_folds_that_overlap_are_scored_one_by_one(held_out):
    labels, columns, splits, scores = held_out
    twice = [np.concatenate([splits[0], splits[1]]), *splits[1:]]
    found = judged(held_out, twice).scores(None, SimpleNamespace(t=1, scores=scores, packed=None))
    f = -scores.reshape(90, 6, 6)[twice[0], :, 0]
    assert found[0] == pytest.approx(np.mean(columns.values(f).argmax(axis=1) == labels[twice[0]]))


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_log_loss_is_that_of_any_library(weighted):
    rng = np.random.default_rng(0)
    signs = rng.integers(-1, 2, (80, 7)).astype(np.int8)
    f = rng.normal(size=(80, 7)) + 0.5 * signs
    f[3, 2], signs[:, 6] = np.nan, 0  # one unknown, and a column where nothing counts
    f[:, 0], f[:, 1] = signs[:, 0], -signs[:, 1]  # separated, and the wrong way round
    weight = rng.integers(0, 3, 80).astype(float) if weighted else None
    elsewhere = log_loss(array_api_strict.asarray(f), signs, weight)
    assert log_loss(f, signs, weight) == pytest.approx(elsewhere, rel=1e-9)
    assert log_loss(np.asfortranarray(f.astype(np.float32)), signs, weight) == pytest.approx(
        elsewhere, rel=1e-5
    )


def test_the_gap_by_questions_is_that_of_all_samples():
    data = mp.datasets.gaussian_mixture()
    codes = np.digitize(data.X[:, 0], np.quantile(data.X[:, 0], [0.3, 0.6]))
    gram = mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=0.7))
    validation = PathValidation(gram, codes, multi_class="ovo", intercept=True)
    state = mp.run(mp.SolutionPath(), validation.problem, 8).last
    plain = mp.State(t=8, u=state.u, scores=state.scores, bound=state.bound)
    by_questions, by_arrays = (mp.metrics.gap(validation.problem, each) for each in (state, plain))
    assert by_questions.max() > 0
    np.testing.assert_allclose(by_questions, by_arrays, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("column", [None, 0, 39])
def test_a_sample_at_its_bound_is_found_in_any_column(column):
    u = np.full((5, 40), -0.5)
    if column is not None:
        u[3, column] = -1.0
    problem = SimpleNamespace(shape=u.shape, mass=np.ones(u.shape))
    state = SimpleNamespace(u=u, bound=np.ones(40), packed=None)
    assert _is_any_at_bound(problem, state) == (column is not None)


@pytest.mark.parametrize("overlapping", [False, True])
def test_what_is_read_off_a_packed_state_is_what_its_arrays_say(overlapping, rng):
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3
    X[:, 0] += y
    tests = [np.arange(j, 90, 4) for j in range(4)] if not overlapping else [np.arange(40), np.arange(20, 60)]
    folds = [(np.setdiff1d(np.arange(90), test), test) for test in tests]
    gram = mp.Gram.from_kernel(X, mp.Gaussian(1.0))
    validation = PathValidation(gram, y, cv=folds, multi_class="ovo", intercept=True)
    for t in (0, 6):
        state = validation.run(mp.SolutionPath(), t, stop=None).last
        arrays = {name: getattr(state, name) for name in ("u", "scores")}
        plain = mp.State(t=t, bound=state.bound, **arrays)
        object.__setattr__(plain, "offset", state.offset)
        assert state.packed is not None
        for name, metric in validation._observers(mp.SolutionPath()).items():
            with np.errstate(invalid="ignore"):
                seen, expected = (metric(validation.problem, each) for each in (state, plain))
            np.testing.assert_allclose(seen, expected, rtol=1e-10, atol=1e-12, err_msg=name)
        assert _is_any_at_bound(validation.problem, state) == _is_any_at_bound(validation.problem, plain)
