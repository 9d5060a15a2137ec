import numpy as np
import pytest

import marginpath as mp

GRAM = mp.Gram.linear(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]]))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 2], r"must contain only −1 and \+1 \(0 leaves a sample out\), got 0, 1, 2"),
        ([1.0, -1.0, np.nan], "missing values"),
        ([1, -1, 0.5], "got -1.0, 0.5, 1.0"),
        (["a", "b", "a"], "got a, b.*np.where"),
        ([1, -1], r"shape \(2,\), but the Gram matrix has 3 samples"),
        (np.ones((3, 2, 1)), r"shape \(3, 2, 1\)"),
        (np.ones((3, 0)), r"shape \(3, 0\)"),
        ([], r"shape \(0,\)"),
        ([1, 1, 1], r"no sample of class -1"),
        ([-1, -1, 0], r"no sample of class \+1"),
        ([[1, 1], [-1, 1], [1, 1]], r"class -1 in column\(s\) \[1\]"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        mp.Problem(GRAM, y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"shape \(2,\), but \(3,\)"),
        ([1.0, -1.0, 1.0], "not negative"),
        ([1.0, np.nan, 1.0], "finite"),
        ([0.0, 0.0, 0.0], r"no sample of class \+1 \(of positive weight\)"),
        ([1.0, 0.0, 1.0], "no sample of class -1"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        mp.Problem(GRAM, [1, -1, 1], sample_weight=weights)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, [1.0, 2.0]])
def test_bad_box_scale(scale):
    with pytest.raises(ValueError, match="box_scale must be positive"):
        mp.Problem(GRAM, [1, -1, 1], box_scale=scale)


@pytest.mark.parametrize("y", [[1, -1, 0], [True, -1, 1], np.array([1, -1, 1], dtype=np.int8)])
def test_labels_of_any_type(y):
    assert mp.Problem(GRAM, y).Y.dtype == np.float64


def test_inputs_are_not_changed():
    y, w = np.array([1, -1, 1]), np.array([1.0, 2.0, 3.0])
    mp.run(mp.DualDescent(mp.PowerDecay(1.0)), mp.Problem(GRAM, y, w), 5)
    assert y.tolist() == [1, -1, 1]
    assert w.tolist() == [1, 2, 3]


def test_definitions():
    X, y, w = GRAM.X, np.array([1.0, -1.0, 1.0]), np.array([1.0, 2.0, 0.5])
    problem = mp.Problem(GRAM, y, w)
    u = np.array([-0.3, -0.1, -0.7])
    weight = -X.T @ (y * u)
    scores = problem.scores(u)
    np.testing.assert_allclose(scores, -X @ weight)
    np.testing.assert_allclose(problem.margins(scores), y * (X @ weight))
    np.testing.assert_allclose(problem.squared_norm(u, scores), weight @ weight)
    np.testing.assert_allclose(problem.dual_objective(u, scores), weight @ weight / 2 + u.sum())
    np.testing.assert_array_equal(problem.box(problem.box_size(4.0)), 4 * w)


def test_infinite_boxes_make_no_nan():
    problem = mp.Problem(GRAM, [1, -1, 0])
    np.testing.assert_array_equal(problem.box(problem.box_size(np.inf)), [np.inf, np.inf, 0])
    small = mp.Problem(mp.Gram.linear(GRAM.X.astype(np.float32)), [1, -1, 0], box_scale=1e30)
    assert small.box_size(1e20) == np.inf


def test_decision_values_of_new_samples():
    problem = mp.Problem(GRAM, [1, -1, 1])
    u = np.array([-0.3, -0.1, -0.7])
    np.testing.assert_allclose(problem.decision(u, GRAM.X), -problem.scores(u))


def test_common_mistakes_are_named():
    X = np.array([[1.0], [2.0]])
    with pytest.raises(TypeError, match=r"gram must be a Gram, got ndarray.*Gram\.from_matrix"):
        mp.Problem(X @ X.T, [1, -1])
    with pytest.raises(ValueError, match=r"2 \* y - 1"):
        mp.Problem(GRAM, [0, 1, 1])
    with pytest.raises(TypeError, match=r"schedule must be a callable.*got 1\.0"):
        mp.DualDescent(1.0)
    with pytest.raises(TypeError, match=r"momentum must be None, Inertia"):
        mp.DualDescent(mp.PowerDecay(1.0), momentum=0.9)
    with pytest.raises(TypeError, match=r"stop must be a rule"):
        mp.run(mp.DualDescent(mp.PowerDecay(1.0)), mp.Problem(GRAM, [1, -1, 1]), 3, stop=1e-3)
    with pytest.raises(TypeError, match=r"kernel 'rbf' takes sigma; given: none"):
        mp.Gram.from_kernel(X, "rbf")
    with pytest.raises(TypeError, match=r"kernel 'rbf' takes sigma; given: gamma"):
        mp.Gram.from_kernel(X, "rbf", gamma=1.0)
    with pytest.raises(TypeError, match=r"an instance, such as Gaussian\(\.\.\.\)"):
        mp.Gram.from_kernel(X, mp.Gaussian)
    with pytest.raises(TypeError, match=r"sigma given beside a kernel"):
        mp.Gram.from_kernel(X, mp.Gaussian(1.0), sigma=2.0)
    with pytest.raises(ValueError, match=r"one label −1 or \+1 for each of the 2 rows of X"):
        mp.HeldOutError(mp.Problem(GRAM, [1, -1, 1]), np.eye(2), [0, 1])


def test_a_class_of_one_sample_among_many_is_found():
    gram = mp.Gram.linear(np.ones((5000, 1)))
    y = np.ones((5000, 2), dtype=np.int8)
    y[1, 0] = y[4998, 1] = -1
    problem = mp.Problem(gram, y)
    assert problem.Y.dtype == problem.mass.dtype == np.float64
    np.testing.assert_array_equal(problem.Y, y)
    y[4998, 1] = 1
    with pytest.raises(ValueError, match=r"no sample of class -1 in column\(s\) \[1\]"):
        mp.Problem(gram, y)
