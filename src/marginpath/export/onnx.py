"""ONNX: the fitted classifiers as graphs that run without Python, through skl2onnx."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from ..estimators import LinearMarginPathClassifier, MarginPathClassifier
from ..estimators.calibration import RIDGE, Coupling, Temperature
from ..extras import require
from ..validation.columns import OneVsOne

__all__ = ["register", "to_onnx"]

# What skl2onnx may be asked of any classifier.
_OPTIONS = {
    "zipmap": [True, False, "columns"],
    "raw_scores": [True, False],
    "output_class_labels": [False, True],
    "nocl": [True, False],
}


def to_onnx(model: Any, X: Any, *, target_opset: int | None = None) -> Any:
    """Return a fitted classifier, or a Pipeline that ends in one, as an ONNX model.

    Its outputs are the label and, for every class, the probability; the decision value where the classifier
    has no probabilities (two classes: −f and f), or isotonic ones. Inside, the graph computes in float64.

    Parameters
    ----------
    model : MarginPathClassifier, LinearMarginPathClassifier or Pipeline
        With a kernel that has a name: a callable has no graph, and a precomputed kernel no samples.
    X : array (n_samples, n_features)
        Any samples, float32 or float64: the model takes what has their type.
    target_opset : int, optional
        The version of ONNX to write; None takes the newest that skl2onnx knows.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> from marginpath.export.onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = to_onnx(mp.LinearMarginPathClassifier(random_state=0).fit(X, y), X.astype(np.float32))
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    register()
    last = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(last, MarginPathClassifier | LinearMarginPathClassifier):
        raise TypeError(
            f"to_onnx takes a classifier of marginpath or a Pipeline that ends in one, got "
            f"{type(last).__name__}. For other compositions call register() and use skl2onnx.to_onnx."
        )
    options = {id(last): {"zipmap": False, "raw_scores": not _has_graph(last)}}
    made = _skl2onnx().to_onnx(model, X[:1], options=options, target_opset=target_opset)
    oldest = import_module("onnx.helper").find_min_ir_version_for
    made.ir_version = oldest(made.opset_import)  # for runtimes older than the installed onnx
    return made


def register() -> None:
    """Tell skl2onnx about both classifiers, so that ``skl2onnx.to_onnx`` converts what contains them.

    Examples
    --------
    >>> register()
    >>> import skl2onnx
    >>> skl2onnx.get_model_alias(MarginPathClassifier)
    'MarginPathClassifier'
    """
    skl2onnx = _skl2onnx()
    shapes = import_module("skl2onnx.common.shape_calculator").calculate_linear_classifier_output_shapes
    for cls in (MarginPathClassifier, LinearMarginPathClassifier):
        skl2onnx.update_registered_converter(cls, cls.__name__, shapes, _convert, options=_OPTIONS)


def _skl2onnx() -> Any:
    return require("skl2onnx", extra="onnx", what="ONNX models")


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a classifier: scores, then label and probabilities."""
    clf, graph = operator.raw_operator, _Graph(container.target_opset, scope, container)
    raw = container.get_options(clf, {"raw_scores": False})["raw_scores"]
    if not raw and not _has_graph(clf):
        raise ValueError(
            f"stopping={clf.stopping!r} with calibration={clf.calibration!r} leaves no probabilities at this "
            f"step that a graph computes. Convert the decision values: "
            f"marginpath.export.onnx.to_onnx, or options={{id(clf): {{'raw_scores': True}}}}."
        )
    double = import_module("skl2onnx.proto").onnx_proto.TensorProto.DOUBLE
    X = graph.Cast(operator.inputs[0], to=double)
    columns = graph.named(_scores(graph, clf, X))
    scores = graph.named(_of_classes(graph, clf, columns))
    label, values = operator.outputs
    graph.Identity(_labels(graph, clf, scores), output_names=[label]).add_to(scope, container)
    kind = import_module("skl2onnx.common.data_types").guess_proto_type(values.type)
    answer = _both(graph, clf, scores) if raw else _probabilities(graph, clf, columns)
    graph.Cast(answer, to=kind, output_names=[values]).add_to(scope, container)


class _Graph:
    """Nodes of one version of ONNX by their names: ``graph.Add(a, b)``."""

    def __init__(self, version: int, scope: Any, container: Any) -> None:
        self.version, self.scope, self.container = version, scope, container
        self.operators = import_module("skl2onnx.algebra.onnx_ops")

    def named(self, node: Any) -> Any:
        """Write a node and all before it now: as often as it is used, it is not written again."""
        variable = import_module("skl2onnx.common._topology").Variable
        double = import_module("skl2onnx.common.data_types").DoubleTensorType
        name = self.scope.get_unique_variable_name("named")
        result = variable(name, name, scope=self.scope.name, type=double([None, None]))
        self.Identity(node, output_names=[result]).add_to(self.scope, self.container)
        return result

    def __getattr__(self, name: str) -> Any:
        node = getattr(self.operators, f"Onnx{name}")
        return lambda *inputs, **settings: node(*inputs, op_version=self.version, **settings)


def _scores(graph: _Graph, clf: Any, X: Any) -> Any:
    """Return f(x), a column for each column of the classifier."""
    if isinstance(clf, LinearMarginPathClassifier):
        products = graph.MatMul(X, _double(clf.coef_.T))
    else:
        products = graph.MatMul(_kernel(graph, clf, X), _double(clf.dual_coef_.T))
    return graph.Add(products, _double(clf.intercept_.reshape(1, -1)))


def _of_classes(graph: _Graph, clf: Any, scores: Any) -> Any:
    """Return the wins of classes in pairs and by how much; of each class against the rest, the scores."""
    if not clf.columns_.in_pairs:
        return scores
    double = import_module("skl2onnx.proto").onnx_proto.TensorProto.DOUBLE
    first, second = (np.eye(len(clf.classes_))[side] for side in clf.columns_.pairs)
    won = graph.Cast(graph.Greater(scores, np.zeros((1, 1))), to=double)
    wins = graph.Add(graph.MatMul(won, second - first), first.sum(axis=0, keepdims=True))
    lead = graph.MatMul(scores, second - first)
    scale = graph.Mul(graph.Add(graph.Abs(lead), np.ones((1, 1))), np.full((1, 1), 3.0))
    return graph.Add(wins, graph.Div(lead, scale))


def _kernel(graph: _Graph, clf: Any, X: Any) -> Any:
    """Return k(x, x_i) with the samples that have a coefficient."""
    if clf.kernel not in _KERNELS:
        reason = "its matrix is computed elsewhere" if clf.kernel == "precomputed" else "code is no graph"
        raise ValueError(
            f"kernel={clf.kernel!r} cannot be converted to ONNX: {reason}. Kernels that can: "
            f"{', '.join(_KERNELS)}."
        )
    Z = clf.support_vectors_
    Z = _double(Z.toarray() if sp.issparse(Z) else Z)
    return _KERNELS[clf.kernel](graph, clf, X, Z)


def _rbf(graph: _Graph, clf: Any, X: Any, Z: np.ndarray) -> Any:
    centre = Z.mean(axis=0, keepdims=True)
    X, Z = graph.Sub(X, centre), Z - centre
    cross = graph.MatMul(X, 2 * Z.T)
    squares = graph.Add(_squares(graph, X, Z.shape[1]), (Z * Z).sum(axis=1).reshape(1, -1))
    distances = graph.Max(graph.Sub(squares, cross), np.zeros((1, 1)))
    return graph.Exp(graph.Mul(distances, np.full((1, 1), -clf.gamma_)))


def _laplacian(graph: _Graph, clf: Any, X: Any, Z: np.ndarray) -> Any:
    cdist = import_module("skl2onnx.algebra.complex_functions").onnx_cdist
    sizes = {"dim_in": Z.shape[1], "dim_out": Z.shape[0]}
    distances = cdist(X, Z, "manhattan", dtype=np.float64, op_version=graph.version, **sizes)
    return graph.Exp(graph.Mul(distances, np.full((1, 1), -clf.gamma_)))


def _poly(graph: _Graph, clf: Any, X: Any, Z: np.ndarray) -> Any:
    base = graph.Add(graph.MatMul(X, clf.gamma_ * Z.T), np.full((1, 1), float(clf.coef0)))
    return graph.Pow(base, np.full((1, 1), float(clf.degree)))


def _linear(graph: _Graph, clf: Any, X: Any, Z: np.ndarray) -> Any:
    centre = np.zeros(Z.shape[1]) if clf.centre_ is None else _double(clf.centre_)
    return graph.MatMul(graph.Sub(X, centre.reshape(1, -1)), np.ascontiguousarray((Z - centre).T))


def _cosine(graph: _Graph, clf: Any, X: Any, Z: np.ndarray) -> Any:
    tiny = np.full((1, 1), np.finfo(np.float64).tiny)
    norms = graph.Sqrt(graph.Max(_squares(graph, X, Z.shape[1]), tiny))  # a zero row stays zero
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    return graph.MatMul(graph.Div(X, norms), (Z / np.where(lengths > 0, lengths, 1)).T)


_KERNELS = {"rbf": _rbf, "poly": _poly, "linear": _linear, "laplacian": _laplacian, "cosine": _cosine}


def _labels(graph: _Graph, clf: Any, scores: Any) -> Any:
    """Return the class of the largest score, or of the sign of a single one."""
    classes = clf.classes_
    classes = classes.astype(np.str_ if classes.dtype.kind in "UO" else np.int64)
    int64 = import_module("skl2onnx.proto").onnx_proto.TensorProto.INT64
    if len(classes) == 2:
        index = graph.Cast(graph.Greater(scores, np.zeros((1, 1))), to=int64)
    else:
        index = graph.ArgMax(scores, axis=1)
    flat = np.array([-1], dtype=np.int64)
    return graph.Reshape(graph.ArrayFeatureExtractor(classes, graph.Reshape(index, flat)), flat)


def _both(graph: _Graph, clf: Any, scores: Any) -> Any:
    """Return a score for each class: of two classes, −f and f."""
    return graph.Concat(graph.Neg(scores), scores, axis=1) if len(clf.classes_) == 2 else scores


def _probabilities(graph: _Graph, clf: Any, scores: Any) -> Any:
    if isinstance(clf.calibrator_, Coupling):
        return _coupled(graph, clf.calibrator_, scores)
    logits = graph.Div(scores, np.full((1, 1), clf.calibrator_.temperature))
    if (log_weight := clf.calibrator_.log_weight) is not None:
        offset = log_weight if len(log_weight) > 2 else log_weight[1:] - log_weight[:1]
        logits = graph.Sub(logits, _double(offset.reshape(1, -1)))
    if len(clf.classes_) > 2:
        return graph.Softmax(logits, axis=1)
    positive = graph.Sigmoid(logits)
    return graph.Concat(graph.Sub(np.ones((1, 1)), positive), positive, axis=1)


def _coupled(graph: _Graph, coupling: Coupling, scores: Any) -> Any:
    """Return the probabilities of classes in pairs, p = Q⁻¹1 / 1ᵀQ⁻¹1, by Gauss and Jordan's elimination."""
    k, (first, second) = coupling.n_classes, OneVsOne(coupling.n_classes).pairs
    pairs = np.arange(len(first))
    odds = graph.Div(scores, coupling.temperatures.reshape(1, -1))
    if (log_weight := coupling.log_weight) is not None:
        odds = graph.Sub(odds, _double(log_weight[second] - log_weight[first]).reshape(1, -1))
    of_second, of_first = (graph.named(graph.Sigmoid(side)) for side in (odds, graph.Neg(odds)))
    # Q_ab = −r_ab r_ba for a pair, and Q_aa the sum of the squares of what the others have against a.
    off, against_first, against_second = np.zeros((3, len(pairs), k, k + 1))
    off[pairs, first, second] = off[pairs, second, first] = -1
    against_first[pairs, first, first] = against_second[pairs, second, second] = 1
    flat: Any = np.hstack([RIDGE * np.eye(k), np.ones((k, 1))]).reshape(1, -1)
    for one, other, where in (
        (of_first, of_second, off),
        (of_second, of_second, against_first),
        (of_first, of_first, against_second),
    ):
        flat = graph.Add(graph.MatMul(graph.Mul(one, other), where.reshape(len(pairs), -1)), flat)
    system = graph.named(graph.Reshape(flat, np.array([-1, k, k + 1], dtype=np.int64)))
    for a in range(k):
        row = graph.named(graph.Gather(system, np.array([a], dtype=np.int64), axis=1))
        others = graph.Sub(_column(graph, system, a), np.eye(k)[:, a].reshape(1, k, 1))
        change = graph.MatMul(others, graph.Div(row, _column(graph, row, a)))
        system = graph.named(graph.Sub(system, change))
    solution = graph.Reshape(_column(graph, system, k), np.array([-1, k], dtype=np.int64))
    share = graph.named(graph.Max(solution, np.zeros((1, 1))))
    return graph.Div(share, graph.MatMul(share, np.ones((k, 1))))


def _column(graph: _Graph, matrix: Any, index: int) -> Any:
    """Return a column (n, k, 1) of every matrix (n, k, m)."""
    return graph.Gather(matrix, np.array([index], dtype=np.int64), axis=2)


def _has_graph(clf: Any) -> bool:
    """Whether there are probabilities that are a formula of the decision values."""
    return isinstance(getattr(clf, "calibrator_", None), Temperature | Coupling)


def _squares(graph: _Graph, X: Any, features: int) -> Any:
    """Return ‖x‖², a column; as a product, because reductions differ between versions."""
    return graph.MatMul(graph.Mul(X, X), np.ones((features, 1)))


def _double(values: Any) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float64)
