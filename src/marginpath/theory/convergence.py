"""Theorems 1 and 2: how far Algorithms 1 and 2 are from the maximum margin, at most."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from .problem_constants import Constants

_SLACK = 1e-9  # relative, of a step size that is 1/L up to rounding


@dataclass(frozen=True)
class Bounds(ABC):
    """Bounds after t updates, t a number or an array."""

    constants: Constants
    step_size: float

    @abstractmethod
    def distance(self, t: Array) -> Array:
        """Return e_t ≥ ‖w_t − w*‖."""

    @property
    @abstractmethod
    def first_step(self) -> float:
        """t*, from which on the bounds of angle and margin hold."""

    def angle_gap(self, t: Array) -> Array:
        """Return e_t²/‖w*‖² ≥ 1 − cos∠(w_t, w*), infinite before t*."""
        return self._from_first_step(t, self.distance(t) ** 2 / self.constants.w_norm**2)

    def margin_gap(self, t: Array) -> Array:
        """Return √2 κ e_t/‖w*‖ ≥ M(w*/‖w*‖) − M(w_t/‖w_t‖), infinite before t*."""
        c = self.constants
        return self._from_first_step(t, math.sqrt(2) * c.kappa * self.distance(t) / c.w_norm)

    def _from_first_step(self, t: Array, values: Array) -> Array:
        return np.where(np.asarray(t) >= self.first_step, values, np.inf)

    def _require(self, valid: bool, needed: str) -> None:
        if not valid:
            raise ValueError(
                f"{type(self).__name__} needs {needed}; here L = {self.constants.L:.6g}, "
                f"step_size = {self.step_size:.6g}."
            )


@dataclass(frozen=True)
class Theorem1(Bounds):
    """Algorithm 1 converges linearly: ‖w_t − w*‖ ≤ e_t = C (1 − ρ)^{t/2}, for 0 < γ < 2/L.

    1 − ρ = 1 / (1 + γμ(2 − γL)), which is the text's 1 / (1 + γμ) at γ = 1/L: with d = u_{t+1} − u_t, the
    descent lemma gives D_t(u_t) − D_t(u_{t+1}) ≥ (1/γ − L/2) ‖d‖², and dist(0, ∂D_t(u_{t+1})) ≤ ‖d‖/γ holds
    up to γ = 2/L. Once e_t < ‖w*‖, the two directions differ by at most √2 e_t/‖w*‖, and a margin by κ times
    that: the text has 2 ‖X‖_F/‖w*‖², which loses the root of its own lemma and can be too small.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=0.5)), data.y)
    >>> found = mp.theory.constants(problem)
    >>> bounds = mp.theory.Theorem1(found, 1 / found.L)
    >>> path = mp.run(mp.DualDescent(mp.Constant(1 / found.u_max), step_size=1 / found.L), problem, 50,
    ...               observe={"distance": mp.Reference(problem, mp.maximum_margin(problem).u).distance})
    >>> bool(np.all(path["distance"] <= bounds.distance(path.steps) * (1 + 1e-9)))
    True
    """

    def __post_init__(self) -> None:
        self._require(0 < self.step_size * self.constants.L < 2, "0 < step_size < 2/L")

    @property
    def rho(self) -> float:
        """ρ, the share of D_t(u_t) − D* that an update removes at least."""
        s = self._gain
        return s / (1 + s)

    @property
    def log_factor(self) -> float:
        """ℓ = ln(1 / (1 − ρ))."""
        return math.log1p(self._gain)

    @property
    def _gain(self) -> float:
        return self.step_size * self.constants.mu * (2 - self.step_size * self.constants.L)

    def distance(self, t: Array) -> Array:
        """Return C (1 − ρ)^{t/2}."""
        return self.constants.C * np.exp(-self.log_factor * np.asarray(t) / 2)

    @property
    def first_step(self) -> float:
        """The first t with e_t < ‖w*‖: 1 for u_0 = 0, where C = ‖w*‖."""
        ratio = self.constants.C / self.constants.w_norm
        if ratio < 1:
            return 0.0
        return math.floor(2 * math.log(ratio) / self.log_factor) + 1.0


@dataclass(frozen=True)
class Theorem2(Bounds):
    """Algorithm 2, α ≥ 3, γ ≤ 1/L: ‖w_t − w*‖ ≤ √(α²C² + (α−1)² ‖u_0 − u*‖²/γ) / (t + α).

    This is for the factor t/(t + α) of update t = 1, 2, … . The energy

        E_s = (s+α−1)² (D(u_s) − D*) + ‖(α−1)(u_{s−1} − u*) + (s+α−1)(u_s − u_{s−1})‖² / (2γ)

    does not rise. It begins with E_1, where u_1 = u_0 in the numbering of the text, so that its first term
    has α² and not (α−1)².
    """

    alpha: float = 3.0

    def __post_init__(self) -> None:
        self._require(0 < self.step_size * self.constants.L <= 1 + _SLACK, "0 < step_size ≤ 1/L")
        if not self.alpha >= 3:
            raise ValueError(f"Theorem 2 needs alpha ≥ 3, got {self.alpha!r}.")

    @property
    def C(self) -> float:
        """The numerator."""
        c, α = self.constants, self.alpha
        return math.sqrt((α * c.C) ** 2 + ((α - 1) * c.distance) ** 2 / self.step_size)

    def distance(self, t: Array) -> Array:
        """Return C / (t + α)."""
        return self.C / (np.asarray(t) + self.alpha)

    @property
    def first_step(self) -> float:
        """The first t with e_t < ‖w*‖."""
        return max(0.0, math.floor(self.C / self.constants.w_norm - self.alpha) + 1.0)


@dataclass(frozen=True)
class PrintedTheorem1(Bounds):
    """Theorem 1 as it is printed; not always true. Give C = constants.C to read its X as Z.

    The margin bound 2 C ‖X‖_F (1 − ρ)^{t/2} / ‖w*‖² is too small for data of a small scale.
    """

    C: float | None = None
    mu: float | None = None

    @property
    def _numerator(self) -> float:
        return printed_C(self.constants) if self.C is None else self.C

    @property
    def _log_factor(self) -> float:
        return math.log1p(self.step_size * (self.constants.printed_mu if self.mu is None else self.mu))

    def distance(self, t: Array) -> Array:
        """Return C (1 − ρ)^{t/2}, NaN where the printed C² is negative."""
        return self._numerator * np.exp(-self._log_factor * np.asarray(t) / 2)

    @property
    def first_step(self) -> float:
        """t* of the proof, with the root's ⟨1, u_0 − u*⟩ for 2⟨1, u_0 − u*⟩: −∞ for u_0 = 0."""
        c = self.constants
        ratio = (c.w0_norm**2 + c.rise) / c.w_norm**2 - 1
        if abs(ratio) < _SLACK:
            return -math.inf
        return (math.log(4) + math.log(ratio)) / self._log_factor if ratio > 0 else math.nan

    def margin_gap(self, t: Array) -> Array:
        """Return 2 C ‖X‖_F (1 − ρ)^{t/2} / ‖w*‖²."""
        c = self.constants
        return self._from_first_step(t, 2 * c.frobenius * self.distance(t) / c.w_norm**2)


@dataclass(frozen=True)
class PrintedTheorem2(Bounds):
    """Theorem 2 as it is printed; not always true. Give C = constants.C to read its X as Z.

    Its E_0 does not exist, and at t = 1, α = 3 the bound can fail.
    """

    alpha: float = 3.0
    C: float | None = None

    @property
    def _numerator(self) -> float:
        c = self.constants
        C = printed_C(c) if self.C is None else self.C
        return (self.alpha - 1) * math.sqrt(C**2 + c.distance**2 / self.step_size)

    def distance(self, t: Array) -> Array:
        """Return C / (t + α − 1), t in the numbering of the text: u_1 = u_0."""
        return self._numerator / (np.asarray(t) + self.alpha - 1)

    @property
    def first_step(self) -> float:
        """t* of the proof, where ⟨1, u_0 − u*⟩ is not divided by ‖w*‖²."""
        c = self.constants
        inertia = c.distance**2 / (self.step_size * c.w_norm**2)
        square = (c.w0_norm / c.w_norm) ** 2 - 1 + 2 * c.rise + inertia
        return (self.alpha - 1) * (2 * math.sqrt(square) - 1) if square >= 0 else math.nan

    def margin_gap(self, t: Array) -> Array:
        """Return 2 C ‖Z‖_F / (‖w*‖ t)."""
        c = self.constants
        t = np.asarray(t, dtype=float)
        with np.errstate(divide="ignore"):
            return self._from_first_step(t, 2 * self._numerator * c.frobenius / (c.w_norm * t))

    def angle_gap(self, t: Array) -> Array:
        """Return C² / (‖w*‖² t²)."""
        t = np.asarray(t, dtype=float)
        with np.errstate(divide="ignore"):
            return self._from_first_step(t, (self._numerator / (self.constants.w_norm * t)) ** 2)


def printed_C(c: Constants) -> float:
    """Return C as printed, with X for Z: NaN where its square is negative."""
    square = c.printed + 2 * c.rise
    return math.sqrt(square) if square >= 0 else math.nan
