"""What decision values are sums of: coefficients of the training samples, and an intercept."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array


class CoefficientsMixin:
    """The coefficients of every step, and what others decide."""

    columns_: Any
    codes_: np.ndarray
    models_: Any
    constant_: float
    X_fit_: Any
    _require_step: Any
    _validated: Any
    _decide_by: Any
    _squeezed: Any

    def coefficients(self, step: int) -> np.ndarray:
        """Return −y∘u after that many steps, (n_samples, columns): f(x) = Σ_i coef_i k(x_i, x) + intercept.

        Examples
        --------
        >>> import marginpath as mp
        >>> from sklearn.datasets import load_iris
        >>> clf = mp.MarginPathClassifier(random_state=0).fit(*load_iris(return_X_y=True))
        >>> bool(np.all(clf.coefficients(clf.step_)[clf.support_].T == clf.dual_coef_))
        True
        """
        self._require_step(step)
        u = self.models_.u(step).astype(self._coefficient_dtype, copy=False)
        return np.asarray(-self.columns_.signs(self.codes_).astype(u.dtype) * u)

    def intercept_of(self, coefficients: Array, offset: Array) -> Array:
        """Return the intercept that belongs to other coefficients, as of one fold's model.

        Parameters
        ----------
        coefficients : array (n_samples, columns)
        offset : array (columns,)
            The intercept that the path has for them, less one that is penalized.

        Examples
        --------
        >>> import marginpath as mp
        >>> from sklearn.datasets import load_iris
        >>> clf = mp.LinearMarginPathClassifier(random_state=0).fit(*load_iris(return_X_y=True))
        >>> offset = clf.path_.rows.at("offset", clf.step_)
        >>> bool(np.allclose(clf.intercept_of(clf.coefficients(clf.step_), offset), clf.intercept_))
        True
        """
        return offset + self.constant_ * coefficients.sum(axis=0) - self._at_centre(coefficients)

    def decisions_of(self, X: Any, coefficients: Array, intercept: Array) -> Array:
        """Return the decision values of other coefficients of the training samples, as of one fold's model.

        Parameters
        ----------
        X : array (n_rows, n_features)
        coefficients : array (n_samples, columns)
            As :meth:`coefficients` returns them.
        intercept : array (columns,)

        Examples
        --------
        >>> import marginpath as mp
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
        >>> again = clf.decisions_of(X, clf.coefficients(clf.step_), clf.intercept_)
        >>> bool(np.allclose(again, clf.decision_function(X)))
        True
        """
        values = self._decide_by(self._validated(X), coefficients)
        return self._squeezed(values + intercept)

    def _at_centre(self, coefficients: Array) -> Any:
        """Return what rows as they are have more than rows about the centre, by such coefficients."""
        return 0

    @property
    def _coefficient_dtype(self) -> np.dtype[Any]:
        """That of the samples, in NumPy."""
        return np.dtype(str(self.X_fit_.dtype).rpartition(".")[2])
