"""What a dual vector proves of the maximum margin, in exact rational arithmetic.

For v = −u ≥ 0 with m_i = y_i Σ_j K_ij y_j v_j and ‖w‖² = Σ_i v_i m_i, the maximum margin lies between
max(0, min_i m_i/‖w‖) and min(‖w‖/Σ_i v_i, min_i √K_ii), over the samples that count. Every float is a
rational number, and roots are never taken: squares are compared. Nothing here is rounded.

With an intercept, the margins of (w, b) with ‖w‖ ≤ 1 are y_i (⟨w, x_i⟩ + b). The best b makes the smallest
m_i of the two classes equal, so that the lower end has their mean. The upper one holds for a v with
Σ_i y_i v_i = 0: of the class that weighs more, the same share of every v_i is left out. Two samples of
different classes are at least twice the margin apart.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import mul


@dataclass(frozen=True)
class Proof:
    """The numbers of one column that its bounds are made of."""

    smallest: Fraction  # min m_i
    squared: Fraction  # ‖w‖²
    total: Fraction  # Σ v_i
    cap: Fraction  # min K_ii
    dual: bool  # whether v ≥ 0: without it there is no upper bound but the cap
    balanced: tuple[Fraction, Fraction] | None = None  # ‖w‖², Σ v where both classes weigh the same

    @property
    def lower_squared(self):
        """The square of max(0, min m/‖w‖)."""
        return self.smallest**2 / self.squared if self.smallest > 0 and self.squared > 0 else Fraction(0)

    @property
    def upper_squared(self):
        """The square of min(‖w‖/Σv, √cap)."""
        by_sample = max(self.cap, Fraction(0))
        squared, total = self.balanced or (self.squared, self.total)
        if not self.dual or total == 0:
            return by_sample
        return min(by_sample, max(squared, Fraction(0)) / total**2)


class ExactGram:
    """A Gram matrix K = k / 2^shift of whole numbers k."""

    def __init__(self, k, shift):
        self.k, self.shift = k, shift

    @classmethod
    def from_matrix(cls, K):
        """Take the entries as they are."""
        return cls(*_integers(_lists(K)))

    @classmethod
    def from_rows(cls, X):
        """Take K = X Xᵀ, of the entries of X as they are."""
        rows, shift = _integers(_lists(X))
        k = [[0] * len(rows) for _ in rows]
        for i, row in enumerate(rows):
            for j in range(i + 1):
                k[i][j] = k[j][i] = sum(map(mul, row, rows[j]))
        return cls(k, 2 * shift)

    @classmethod
    def from_kernel(cls, X, kernel):
        """Take the kernel, one of :mod:`verify.kernels`, of the entries of X as they are, to 2^-400."""
        rows, shift = _integers(_lists(X))
        k = [[0] * len(rows) for _ in rows]
        for i, row in enumerate(rows):
            for j in range(i + 1):
                k[i][j] = k[j][i] = round(kernel(row, rows[j], shift) * (1 << 400))
        return cls(k, 400)

    def is_positive_semidefinite(self):
        """Whether these numbers are a Gram matrix at all: rounded kernel values need not be.

        By elimination: a diagonal entry under 0 is a proof that they are not, and so is a 0 in a row that is
        not 0.
        """
        a = [[Fraction(x) for x in row] for row in self.k]
        while a:
            diagonal = [row[i] for i, row in enumerate(a)]
            if min(diagonal) < 0 or any(d == 0 and any(row) for d, row in zip(diagonal, a, strict=True)):
                return False
            if not any(diagonal):
                return True
            p = max(range(len(a)), key=diagonal.__getitem__)
            rest, pivot = [i for i in range(len(a)) if i != p], a[p]
            a = [[a[i][j] - a[i][p] * pivot[j] / pivot[p] for j in rest] for i in rest]
        return True

    def proof(self, y, weight, u, intercept=False):
        """Return what u proves; rows of label 0 or weight 0 do not count, whatever u is there."""
        counts = [i for i in range(len(y)) if y[i] != 0 and weight[i] != 0]
        (v,), shift = _integers([[-float(u[i]) for i in counts]])
        m = self._margins(counts, y, v)
        proof = Proof(
            smallest=_fraction(min(m), self.shift + shift),
            squared=_fraction(sum(map(mul, v, m)), self.shift + 2 * shift),
            total=_fraction(sum(v), shift),
            cap=_fraction(min(self.k[i][i] for i in counts), self.shift),
            dual=min(v) >= 0,
        )
        if not intercept:
            return proof
        up, down = ([n for n, i in enumerate(counts) if y[i] == side] for side in (1, -1))
        halves = min(m[n] for n in up) + min(m[n] for n in down)
        weights = sum(v[n] for n in up), sum(v[n] for n in down)
        part = [a * (weights[1] if y[i] == 1 else weights[0]) for i, a in zip(counts, v, strict=True)]
        squared = sum(map(mul, part, self._margins(counts, y, part)))
        return replace(
            proof,
            smallest=_fraction(halves, self.shift + shift + 1),
            cap=min(self._quarter_distance(counts[a], counts[b]) for a in up for b in down),
            balanced=(_fraction(squared, self.shift), Fraction(sum(part))),
        )

    def _margins(self, counts, y, v):
        """Return m_i, in whole numbers, of the samples that count."""
        signed = [int(y[i]) * a for i, a in zip(counts, v, strict=True)]
        rows = ([self.k[i][j] for j in counts] for i in counts)
        return [int(y[i]) * sum(map(mul, row, signed)) for i, row in zip(counts, rows, strict=True)]

    def _quarter_distance(self, i, j):
        """Return ‖x_i − x_j‖²/4; of numbers that no two samples can have, no more than (‖x_i‖ + ‖x_j‖)²/4."""
        a, b, product = self.k[i][i], self.k[j][j], self.k[i][j]
        if product < 0 and product**2 > a * b:
            product = -min(a, b)
        return _fraction(a + b - 2 * product, self.shift + 2)


def exact_interval(K, y, weight, v, *, rows=False):
    """Return min m, ‖w‖² and Σ v; K is a kernel matrix, or with ``rows`` the features X of K = X Xᵀ."""
    gram = ExactGram.from_rows(K) if rows else ExactGram.from_matrix(K)
    proof = gram.proof(y, weight, [-float(a) for a in v])
    return proof.smallest, proof.squared, proof.total


def violations(lower, upper, proof, truth_squared=None):
    """Return what is wrong with the claim lower ≤ maximum margin ≤ upper by the vector of the proof."""
    faults = contradictions(lower, upper, truth_squared, truth_squared, "the true margin")
    if over(lower, proof.lower_squared):
        faults.append("lower is over what u proves")
    if under(upper, proof.upper_squared):
        faults.append("upper is under what u proves")
    return faults


def contradictions(lower, upper, least_squared, most_squared, what):
    """Return where the claim contradicts itself, or a margin from √least to √most."""
    lower, upper = float(lower), float(upper)
    if math.isnan(lower) or math.isnan(upper):
        return ["a bound is not a number"]
    faults = ["lower is over upper"] if lower > upper else []
    if most_squared is not None and over(lower, most_squared):
        faults.append(f"lower is over {what}")
    if least_squared is not None and under(upper, least_squared):
        faults.append(f"upper is under {what}")
    return faults


def status_violations(status, lower, upper, epsilon, tol, least_squared, cap):
    """Return what is wrong with the word for a maximum margin from √least to √cap, both proved."""
    lower, upper, epsilon = float(lower), float(upper), float(epsilon)
    faults = []
    if status == "exact":
        if not (0 < lower <= upper < math.inf):
            faults.append("exact without bounds on either side")
        elif Fraction(upper) - Fraction(lower) > Fraction(tol) * Fraction(upper):
            faults.append("exact with a gap over tol")
    if status == "certified":
        if upper > epsilon or under(epsilon, least_squared):
            faults.append("no margin over epsilon is said where there is one")
        if lower > 0:
            faults.append("no margin is said where the bounds prove one")
    if status == "inseparable" and least_squared > 0:
        faults.append("no margin is said where there is one")
    if status == "zero_rows" and cap > 0:
        faults.append("zero rows are said where there are none")
    return faults


def over(bound, squared):
    """Return whether bound > √squared."""
    bound = float(bound)
    return bound > 0 and (bound == math.inf or Fraction(bound) ** 2 > squared)


def under(bound, squared):
    """Return whether bound < √squared, or < 0, which no margin is."""
    bound = float(bound)
    return bound < 0 or (bound < math.inf and Fraction(bound) ** 2 < squared)


def _lists(array):
    array = array.toarray() if hasattr(array, "toarray") else array
    return array.tolist() if hasattr(array, "tolist") else array


def _integers(rows):
    """Return whole numbers and a shift: each float is its whole number / 2^shift."""
    pairs = [[float(x).as_integer_ratio() for x in row] for row in rows]
    shift = max(b.bit_length() for row in pairs for _, b in row) - 1
    return [[a << (shift - b.bit_length() + 1) for a, b in row] for row in pairs], shift


def _fraction(whole, shift):
    return Fraction(whole, 1 << shift)
