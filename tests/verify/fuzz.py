"""Certificates by the hundred thousand, each checked in exact arithmetic; the same ones for the same seed.

cd tests && python -m verify.fuzz --count 100000 --seed 0
"""

import argparse
import math
import multiprocessing
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from .cases import draw_case
from .claims import (
    classifier_case,
    classifier_claims,
    hard_margin_claims,
    intercept_claims,
    run_claims,
    vector_claims,
)
from .exact import contradictions, status_violations, violations

_SHARES = 16  # of the work, whatever the number of processes: the result does not depend on it
_SHOWN = 20


@dataclass
class Tally:
    """Counts of certificates and of wrong ones, by every dimension; what was wrong, and what was refused."""

    certificates: int = 0
    violations: int = 0
    seen: Counter = field(default_factory=Counter)
    wrong: Counter = field(default_factory=Counter)
    faults: Counter = field(default_factory=Counter)
    refused: Counter = field(default_factory=Counter)
    examples: list = field(default_factory=list)

    def add(self, number, traits, claim, faults):
        """Count a certificate."""
        traits = traits | claim.traits
        keys = list(traits.items())
        self.certificates += 1
        self.seen.update(keys)
        if faults:
            self.violations += 1
            self.wrong.update(keys)
            self.faults.update(faults)
            self.examples.append((number, claim.lower, claim.upper, faults, list(traits.values())))

    def merge(self, other):
        """Add the counts of another share."""
        self.certificates += other.certificates
        self.violations += other.violations
        for name in ("seen", "wrong", "faults", "refused"):
            getattr(self, name).update(getattr(other, name))
        self.examples += other.examples

    def __str__(self):
        """Return the table."""
        lines = [f"{self.certificates} certificates, {self.violations} violations"]
        for (dimension, value), count in sorted(self.seen.items()):
            lines.append(f"{dimension:10s} {value:28s} {count:8d} {self.wrong[dimension, value]:8d}")
        for title, counts in (("wrong", self.faults), ("refused", self.refused)):
            lines += [f"{title}: {count} × {what}" for what, count in counts.most_common()]
        for number, lower, upper, faults, traits in self._first_examples():
            lines.append(f"case {number}: [{lower}, {upper}] {'; '.join(faults)} ({', '.join(traits)})")
        return "\n".join(lines)

    def _first_examples(self):
        """Return one example of every kind of fault and source of u."""
        kinds = {
            (*faults, *traits[7:9]): (*rest, faults, traits) for *rest, faults, traits in self.examples[::-1]
        }
        return list(kinds.values())[:_SHOWN]


def fuzz(count, seed=0, processes=1):
    """Check about so many certificates and return the tally."""
    share = partial(_share, -(-count // _SHARES), seed)
    tally = Tally()
    if processes == 1:
        parts = map(share, range(_SHARES))
    else:
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            parts = pool.map(share, range(_SHARES), chunksize=1)
    for part in parts:
        tally.merge(part)
    return tally


def _share(count, seed, index):
    tally, number = Tally(), index
    while tally.certificates < count:
        check_case(seed, number, tally)
        number += _SHARES
    return tally


def check_case(seed, number, tally):
    """Draw a case and its claims and check them; what the package refuses with an error is counted apart."""
    rng = np.random.default_rng([seed, number])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        case = _attempt(tally, "problem", lambda: draw_case(rng))
        if case is None:
            return
        check_claims(number, case, vector_claims(case, rng), tally)
        check_claims(number, case, run_claims(case, rng), tally)
        if rng.random() < 0.5:
            check_claims(number, case, hard_margin_claims(case, rng), tally)
        if rng.random() < 0.5:
            free = case.with_intercept()
            check_claims(number, free, intercept_claims(free, rng), tally)
        if case.numbers is not None and rng.random() < 0.1:
            fitted = _attempt(tally, "classifier", lambda: classifier_case(case, rng))
            if fitted is not None:
                check_claims(number, fitted[0], classifier_claims(*fitted), tally)


def _attempt(tally, what, make):
    try:
        return make()
    except (ValueError, FloatingPointError, ZeroDivisionError, OverflowError) as error:
        tally.refused[f"{what}: {type(error).__name__}: {str(error)[:60]}"] += 1
        return None


def check_claims(number, case, claims, tally):
    """Check every claim against its own vector, and those that name none against the vectors so far."""
    least = [truth or 0 for truth in case.truths]  # squares of proved bounds, by column
    most = [math.inf if truth is None else truth for truth in case.truths]
    while True:
        claim = _attempt(tally, "claim", lambda: next(claims, None))
        if claim is None:
            return
        j, cap = claim.column, 0
        if claim.u is None and not case.exact.is_positive_semidefinite():
            faults = [] if claim.lower <= claim.upper else ["lower is over upper"]
        elif claim.u is None:
            faults = contradictions(claim.lower, claim.upper, least[j], most[j], "what is proved")
        else:
            proof = case.exact.proof(case.columns[j], case.weight, claim.u, case.intercept)
            least[j], most[j] = max(least[j], proof.lower_squared), min(most[j], proof.upper_squared)
            faults, cap = violations(claim.lower, claim.upper, proof, case.truths[j]), proof.cap
        if claim.status is not None:
            ends = claim.lower, claim.upper, claim.epsilon, claim.tol
            faults += status_violations(claim.status, *ends, least[j], cap)
        tally.add(number, case.traits, claim, faults)


def main():
    """Print the table; the exit status says whether there is a violation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    tally = fuzz(given.count, given.seed, given.processes)
    print(tally)
    return int(tally.violations > 0)


if __name__ == "__main__":
    sys.exit(main())
