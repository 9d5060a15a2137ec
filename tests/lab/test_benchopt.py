"""The files for benchopt, run without it: it only calls the methods that are called here."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.svm import LinearSVC

LAB = Path(__file__).parents[2] / "lab" / "benchopt"


class Base:
    """What benchopt's classes do for us: parameters become attributes."""

    def __init__(self, **parameters):
        for name, values in {**getattr(self, "parameters", {}), **parameters}.items():
            setattr(self, name, values[0] if isinstance(values, list) else values)


@pytest.fixture
def load(monkeypatch):
    """Return a function that loads a class of a file."""
    stand_in = ModuleType("benchopt")
    stand_in.BaseObjective = stand_in.BaseSolver = stand_in.BaseDataset = Base
    monkeypatch.setitem(sys.modules, "benchopt", stand_in)

    def loaded(file, name):
        spec = importlib.util.spec_from_file_location(f"benchopt_{Path(file).stem}", LAB / file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, name)

    return loaded


@pytest.fixture
def objective(load):
    objective = load("kernel_svm_path/objective.py", "Objective")(n_C=7)
    moons = load("kernel_svm_path/datasets/simulated.py", "Dataset")(n_samples=150, flipped=0.1)
    objective.set_data(**moons.get_data())
    return objective


def judged(objective, solver):
    solver.set_objective(**objective.get_objective())
    solver.run(None)
    return objective.evaluate_result(**solver.get_result())


def test_a_path_and_one_fit_for_every_C_are_the_same_classifiers(load, objective):
    ours = judged(objective, load("kernel_svm_path/solvers/marginpath.py", "Solver")(path_tol=1e-6))
    theirs = judged(objective, load("kernel_svm_path/solvers/svc.py", "Solver")(tol=1e-9))
    assert ours["largest_gap"] <= 1.01e-6
    assert theirs["largest_gap"] < 1e-3  # LIBSVM has kernel values in float32, which shows at C = 10,000
    for name in ("value", "test_error", "C"):
        assert ours[name] == pytest.approx(theirs[name], abs=1e-9)


def test_a_wrong_model_has_a_gap(objective):
    judgement = objective.evaluate_result(**objective.get_one_result())
    assert judgement["largest_gap"] == judgement["median_gap"] == 1


def test_the_linear_solver_goes_to_the_solution(load):
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(100, 5)), 0.1
    y = np.where(X[:, 0] + rng.normal(size=100) > 0, 1, -1)
    solver = load("linear_svm/solvers/marginpath.py", "Solver")()
    solver.set_objective(X=X, y=y, C=C)

    def objective(w):
        return w @ w / 2 + C * np.maximum(0, 1 - y * (X @ w)).sum()

    values = []
    for steps in (0, 1, 200):
        solver.run(steps)
        values.append(objective(solver.get_result()["beta"]))
    exact = LinearSVC(loss="hinge", C=C, fit_intercept=False, max_iter=100_000, tol=1e-9, random_state=0)
    best = objective(exact.fit(X, y).coef_[0])
    assert values[0] > values[1] > values[2] == pytest.approx(best, rel=1e-6)
