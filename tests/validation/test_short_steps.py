"""A short path in one compiled call is the one that ``run`` takes."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

import marginpath as mp
from marginpath import parallel
from marginpath.solvers.solution_path import few_samples
from marginpath.validation import short_path as module
from marginpath.validation.cross_validation import PathValidation
from marginpath.validation.short_path import short_path
from marginpath.validation.splits import StratifiedHoldout


def both(monkeypatch, X, y, sigma, **settings):
    """Return the short path by one compiled call, and by a step after the other."""
    gram = mp.Gram.from_kernel(X, mp.Gaussian(sigma))
    validation = PathValidation(gram, y, intercept=True, whole=False, **settings)
    assert module._can_be_compiled(validation)
    at_once = short_path(validation, 100)
    monkeypatch.setattr(module, "COMPILED", 0)
    return at_once, short_path(validation, 100)


def moons(dtype=np.float64):
    X, y = make_moons(300, noise=0.3, random_state=0)
    return X.astype(dtype), y


def blobs():
    return make_blobs(180, centers=5, n_features=4, cluster_std=4.0, random_state=0)


@pytest.mark.parametrize("sigma", [0.1, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_the_path_of_steps_one_by_one(monkeypatch, sigma, dtype):
    at_once, one_by_one = both(monkeypatch, *moons(dtype), sigma)
    assert at_once.observed.keys() == one_by_one.observed.keys()
    assert (at_once.steps, at_once.is_settled) == (one_by_one.steps, one_by_one.is_settled)
    assert at_once.start == one_by_one.start
    np.testing.assert_array_equal(at_once.observed["bound"], one_by_one.observed["bound"])
    for name in ("hinge", "log_loss"):  # where pair steps take too long, solutions differ within their gap
        np.testing.assert_allclose(at_once.observed[name], one_by_one.observed[name], rtol=0, atol=5e-3)
    np.testing.assert_allclose(at_once.observed["scores"], one_by_one.observed["scores"], atol=0.05)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_several_classes(monkeypatch, multi_class, weighted, rng):
    X, y = blobs()
    weight = rng.integers(1, 4, len(y)).astype(float) if weighted else None
    at_once, one_by_one = both(monkeypatch, X, y, 5.0, multi_class=multi_class, sample_weight=weight)
    assert at_once.steps == one_by_one.steps
    for name, values in one_by_one.observed.items():
        np.testing.assert_allclose(at_once.observed[name], values, rtol=1e-3, atol=0.03 * (name == "scores"))


def test_samples_that_no_fold_holds_out(monkeypatch):
    at_once, one_by_one = both(monkeypatch, *blobs(), 5.0, multi_class="ovo", cv=StratifiedHoldout(0.3, 0))
    assert at_once.observed["scores"].shape == (at_once.steps, 1)
    for name, values in one_by_one.observed.items():
        np.testing.assert_allclose(at_once.observed[name], values, rtol=1e-3)


def test_labels_at_random_end_where_they_did(monkeypatch, rng):
    """Nothing is learned: which of the reasons ends a path is another one then."""
    X, y = rng.standard_normal((150, 3)), rng.integers(0, 2, 150)
    for sigma in (0.3, 2.0, 30.0):
        with monkeypatch.context() as context:
            at_once, one_by_one = both(context, X, y, sigma)
        assert at_once.steps == one_by_one.steps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_newtons_method_goes_on_where_pair_steps_take_long(monkeypatch, dtype):
    """All samples as one set reach the gap that is asked for, from wherever pair steps are."""
    from marginpath.solvers.solution_path.few_columns import FewColumns
    from marginpath.solvers.solution_path.few_finish import finish_few
    from marginpath.solvers.solution_path.few_start import begin_few

    X, y = moons(dtype)
    gram = mp.Gram.from_kernel(X, mp.Gaussian(0.5))
    problem = PathValidation(gram, y, intercept=True, whole=False).problem
    packed, _ = FewColumns.at_start(problem)
    few, duals, asked, _ = FewColumns.compiled_parts(problem, packed, mp.SolutionPath(tol=1e-5))
    solved = np.zeros(5, dtype=bool)
    duals.bound[:] = duals.before[:] = 30.0
    begin_few(few, 0, 1, 0, 5, duals)
    stopped = np.ones(1, dtype=bool)
    few_samples.advance_few(few, 0, 1, 0, 5, duals, asked, stopped, solved)
    assert not solved.any()
    finish_few(few, duals, asked, solved)
    assert solved.all()
    u = packed.layout.spread(len(y), np.arange(5), duals.u, None).T
    scores = problem.scores(u.astype(dtype)) + duals.offset
    state = mp.run(mp.SolutionPath(tol=1e-5), problem, 1).last
    gaps = mp.metrics.gap(
        problem, mp.solvers.State(t=1, u=u, scores=scores, bound=duals.bound + 0 * state.bound)
    )
    assert np.max(gaps) <= 2e-5


@pytest.mark.parametrize("n", [None, 6300])
def test_a_race_does_not_depend_on_threads(n):
    X, y = blobs() if n is None else make_moons(n, noise=0.3, random_state=0)
    tables = []
    for n_jobs in (1, 2, 3):
        clf = mp.MarginPathClassifier(gamma="tuned", n_jobs=n_jobs, random_state=0).fit(X, y)
        tables.append((clf.width_results_, clf.path_["scores"], clf.dual_coef_))
    for other in tables[1:]:
        np.testing.assert_equal(other, tables[0])


@pytest.mark.parametrize("sizes", [{"centers": 2, "n_samples": 700}, {"centers": 5, "n_samples": 400}])
def test_threads_that_share_a_path_change_no_bit(monkeypatch, sizes):
    X, y = make_blobs(**sizes, n_features=4, cluster_std=4.0, random_state=0)
    gram, alone, by_threads = mp.Gram.from_kernel(X, mp.Gaussian(3.0)), [], module._by_threads
    monkeypatch.setattr(module, "_by_threads", lambda *given: alone.append(given) or by_threads(*given))
    paths = []
    for workers in (1, 2, 3):
        with parallel.limited(workers):
            paths.append(
                short_path(PathValidation(gram, y, intercept=True, whole=False, multi_class="ovo"), 100)
            )
    assert len(alone) == 2
    for other in paths[1:]:
        np.testing.assert_equal(dict(other.observed), dict(paths[0].observed))
        assert (other.score, other.is_settled) == (paths[0].score, paths[0].is_settled)


@pytest.mark.parametrize(("rule", "learned"), [("sign", True), ("random", False)])
def test_what_is_learned_is_told_from_chance(rule, learned, rng):
    X = rng.standard_normal((200, 3))
    y = X[:, 0] + 2 * rng.standard_normal(200) > 0 if rule == "sign" else np.arange(200) % 2
    gram = mp.Gram.from_kernel(X, mp.Gaussian(2.0))
    assert short_path(PathValidation(gram, y, intercept=True, whole=False), 100).has_learned == learned


@pytest.mark.parametrize("landmarks", [None, 60])
def test_weights_in_float32_do_not_end_a_short_path(landmarks):
    """Who is at the bound is told by numbers in float64, whatever the weights are kept in."""
    X, y = make_moons(900, noise=0.3, random_state=0)
    weight = np.where(y == 1, 1.3, 0.7)
    found = []
    for dtype in (np.float32, np.float64):
        kernel = mp.Gaussian(0.5)
        rows = X.astype(dtype)
        gram = mp.Gram.landmarks(rows, kernel, landmarks) if landmarks else mp.Gram.from_kernel(rows, kernel)
        validation = PathValidation(gram, y, intercept=True, whole=False, sample_weight=weight)
        found.append(short_path(validation, 100))
    rough, exact = found
    assert rough.steps == exact.steps > 3
    assert rough.score == pytest.approx(exact.score, abs=0.01)
