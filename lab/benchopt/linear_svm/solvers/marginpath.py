"""A solver for benchopt's benchmark of linear SVMs without an intercept: coordinate sweeps at one C.

Copy it to `solvers/` of benchopt/benchmark_linear_svm_binary_classif_no_intercept. Its problem is
min_w ½‖w‖² + C Σ max(0, 1 − y_i ⟨w, x_i⟩); the update that a run is stopped after counts sweeps.
"""

import numpy as np
from benchopt import BaseSolver

from marginpath import Constant, CoordinateDescent, Gram, Problem, run


class Solver(BaseSolver):
    """CoordinateDescent with a constant λ = 1/C."""

    name = "marginpath"
    requirements = ["pip::marginpath"]
    sampling_strategy = "iteration"

    def set_objective(self, X, y, C):
        """Take the problem."""
        self.X = X
        self.problem = Problem(Gram.linear(X), y)
        self.solver = CoordinateDescent(schedule=Constant(1 / C), tol=0.0, seed=0)

    def warm_up(self):
        """Compile."""
        self.run(1)

    def run(self, n_iter):
        """Take so many steps from 0."""
        self.path = run(self.solver, self.problem, n_iter, observe=[]) if n_iter else None

    def get_result(self):
        """Return w = −Zᵀu."""
        u = np.zeros(len(self.problem.Y)) if self.path is None else self.path.last.u
        return {"beta": -self.X.T @ (self.problem.Y.reshape(-1) * u.reshape(-1))}
