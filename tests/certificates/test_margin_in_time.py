"""The maximum margin within a limit of time, and its factors by panels."""

import numpy as np
import pytest

import marginpath as mp
from marginpath.certificates.maximum_margin import MarginStatus, maximum_margin


class Clock:
    """Time that passes only when someone looks: one second each."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        for module in ("certificates.maximum_margin", "path.run"):
            monkeypatch.setattr(f"marginpath.{module}.time.monotonic", self)

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("limit", [1e-9, 12.0, 60.0])
def test_every_long_part_looks_at_the_clock(limit, monkeypatch, rng):
    X, y = rng.standard_normal((300, 30)), np.where(np.arange(300) % 2, 1, -1)
    problem = mp.Problem(mp.Gram.linear(X), y)
    whole = maximum_margin(problem)
    Clock(monkeypatch)
    part = maximum_margin(problem, time_limit=limit)
    assert part.steps <= limit + 1
    assert part.factorizations <= min(limit, 500)
    assert part.factorizations < whole.factorizations or part.status is whole.status
    assert part.margin_bounds[0] <= whole.margin_bounds[1]
    assert whole.margin_bounds[0] <= part.margin_bounds[1]
    if limit < 1:
        assert part.status is MarginStatus.LIMITED
        assert part.status.sentence.startswith("The limit on time")


def test_a_large_factorization_ends_between_two_panels(rng):
    from marginpath.certificates.pivoting import _PANEL, _SMALL, cholesky

    n, looks = _SMALL + 10, []

    def look():
        looks.append(1)
        if len(looks) == 3:
            raise TimeoutError

    M = np.asfortranarray(np.eye(n))
    with pytest.raises(TimeoutError):
        cholesky(M, look)
    assert len(looks) == 3
    assert -(-n // _PANEL) > 3


def test_a_factor_by_panels_is_the_factor(monkeypatch, rng):
    monkeypatch.setattr("marginpath.certificates.pivoting._SMALL", 10)
    monkeypatch.setattr("marginpath.certificates.pivoting._PANEL", 7)
    from marginpath.certificates.pivoting import cholesky

    A = rng.standard_normal((40, 50))
    M = np.asfortranarray(A @ A.T)
    np.testing.assert_allclose(
        np.tril(cholesky(M.copy(order="F"), lambda: None)), np.linalg.cholesky(M), rtol=1e-10
    )
    assert cholesky(np.asfortranarray(M - 1e3 * np.eye(40)), lambda: None) is None
