"""The settings of the paper's figures: what its text states, and what its authors' program does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from marginpath.momentum import Inertia
from marginpath.schedules import Schedule


@dataclass(frozen=True)
class Settings:
    """All that sets one way of making the figures apart from the other.

    Attributes
    ----------
    name : {"text", "program"}
        Also which toy set and which mixture are drawn.
    offset : int
        Update t uses λ at t + offset, and the rivals count from 1 + offset: the program counts from 2.
    alpha : float
        Of Algorithm 2, but for the toy set.
    toy_lambda0, toy_step, toy_alphas, toy_steps
        λ_0; the step of Algorithm 1 over 1/L; the α of Algorithm 2; updates.
    fig3_sigma, fig3_lambda0s, fig4_sigma, fig4_lambda0, mixture_steps
        Widths of the kernel exp(−d²/(2σ²)), λ_0 of Figures 3 and 4, updates.
    mnist_sigma, mnist_standardized, mnist_step_1, mnist_step_2, mnist_start
        Width, whether pixels have mean 0 and deviation 1, the steps of Algorithms 1 and 2 over 1/L, and
        the deviation of their random start.
    htru2_sigma, htru2_standardized
        The same of HTRU2, where steps are 1/L and the start is 0.
    real_lambda0, real_steps
        λ_0 and updates on MNIST and HTRU2.

    Examples
    --------
    >>> TEXT.schedule(lambda t: 4 / t)(1), PROGRAM.schedule(lambda t: 4 / t)(1)
    (4.0, 2.0)
    """

    name: Literal["text", "program"]
    offset: int
    alpha: float
    toy_lambda0: float
    toy_step: float
    fig3_sigma: float
    fig3_lambda0s: tuple[float, ...]
    fig4_sigma: float
    fig4_lambda0: float
    mnist_sigma: float
    mnist_standardized: bool
    mnist_step_1: float
    mnist_step_2: float
    mnist_start: float
    htru2_sigma: float
    htru2_standardized: bool
    toy_alphas: tuple[float, ...] = (10, 30, 50)
    toy_steps: int = 1000
    mixture_steps: int = 2000
    real_lambda0: float = 1.0
    real_steps: int = 1000

    def schedule(self, decay: Schedule) -> Schedule:
        """Return update t → λ."""
        return lambda t: decay(t + self.offset)

    def inertia(self) -> Callable[[int], float]:
        """Return the factor of update t: t/(t + α) in the text, (t − 1)/(t + α) in the program."""
        if self.name == "text":
            return Inertia(self.alpha)
        return lambda t: (t - 1) / (t + self.alpha)

    def toy_inertia(self, alpha: float) -> Callable[[int], float]:
        """Return the same for the toy set, where the program has another form of it."""
        if self.name == "text":
            return Inertia(alpha)
        return lambda t: (t - 1 - alpha / 4) / (t + 3 * alpha / 4)


TEXT = Settings(
    name="text",
    offset=0,
    alpha=4,  # of the legends; the text has none
    toy_lambda0=4,
    toy_step=1,
    fig3_sigma=0.15**0.5,
    fig3_lambda0s=(100, 10, 1, 0.01),
    fig4_sigma=0.15**0.5,
    fig4_lambda0=8,
    mnist_sigma=3.4**0.5,
    mnist_standardized=True,
    mnist_step_1=1,
    mnist_step_2=1,
    mnist_start=0,
    htru2_sigma=2,
    htru2_standardized=True,
)

PROGRAM = Settings(
    name="program",
    offset=1,
    alpha=3,
    toy_lambda0=0.001,
    toy_step=1.4,
    fig3_sigma=0.12,
    fig3_lambda0s=(80, 10, 1, 0.01),
    fig4_sigma=0.1,
    fig4_lambda0=10,
    mnist_sigma=3.4,
    mnist_standardized=False,
    mnist_step_1=1.21,
    mnist_step_2=1.1,
    mnist_start=0.01,
    htru2_sigma=4,
    htru2_standardized=False,
)

#: By name; the program's made the paper's pictures and are the default.
SETTINGS: dict[str, Settings] = {"program": PROGRAM, "text": TEXT}


def find_settings(name: str) -> Settings:
    """Return the settings of that name.

    Examples
    --------
    >>> find_settings("text").toy_lambda0
    4
    """
    if name not in SETTINGS:
        raise ValueError(f"There are no settings {name!r}; there are {' and '.join(SETTINGS)}.")
    return SETTINGS[name]
