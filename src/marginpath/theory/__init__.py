"""What the three theorems promise for a problem at hand: constants, bounds, stopping times."""

from .convergence import Bounds, PrintedTheorem1, PrintedTheorem2, Theorem1, Theorem2
from .problem_constants import Constants, constants, hoffman_constant, hoffman_lower_bound
from .solutions import SolutionTheorem
from .stability import PrintedTheorem3, Theorem3, coupling, random_flips, two_point_bound
from .sweeps import SweepTheorem, searched_sweep
from .tikhonov import TikhonovSide, tikhonov_side

__all__ = [
    "Bounds",
    "Constants",
    "PrintedTheorem1",
    "PrintedTheorem2",
    "PrintedTheorem3",
    "SolutionTheorem",
    "SweepTheorem",
    "Theorem1",
    "Theorem2",
    "Theorem3",
    "TikhonovSide",
    "constants",
    "coupling",
    "hoffman_constant",
    "hoffman_lower_bound",
    "random_flips",
    "searched_sweep",
    "tikhonov_side",
    "two_point_bound",
]
