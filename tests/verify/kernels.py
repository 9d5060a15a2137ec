"""Kernels of exact numbers, to 150 digits where an exponential has no end."""

from decimal import Context, Decimal
from fractions import Fraction
from operator import mul

_CONTEXT = Context(prec=150)
_NOTHING = -500  # an exponent under which a kernel value is under 2^-400


def gaussian(sigma):
    """Return exp(−‖x − z‖²/(2σ²)) of rows of whole numbers over 2^shift."""

    def kernel(x, z, shift):
        distance = Fraction(sum((a - b) ** 2 for a, b in zip(x, z, strict=True)), 1 << 2 * shift)
        return _exponential(-distance / (2 * Fraction(sigma) ** 2))

    return kernel


def laplacian(sigma):
    """Return exp(−‖x − z‖₁/σ)."""

    def kernel(x, z, shift):
        distance = Fraction(sum(abs(a - b) for a, b in zip(x, z, strict=True)), 1 << shift)
        return _exponential(-distance / Fraction(sigma))

    return kernel


def polynomial(degree, gamma, coef0):
    """Return (γ⟨x, z⟩ + c)^degree."""

    def kernel(x, z, shift):
        return (Fraction(gamma) * Fraction(sum(map(mul, x, z)), 1 << 2 * shift) + Fraction(coef0)) ** degree

    return kernel


def _exponential(x):
    if x < _NOTHING:
        return Fraction(0)
    quotient = _CONTEXT.divide(Decimal(x.numerator), Decimal(x.denominator))
    return Fraction(_CONTEXT.exp(quotient))
