"""Peak memory, measured in a process of its own."""

import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np, marginpath as mp, marginpath.gram.base

def peak():
    # Not ru_maxrss: that keeps the peak of the process which started this one.
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

n = 20_000
before = peak()
X = np.random.default_rng(0).standard_normal((n, 5)).astype(np.float32)
y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
gram = mp.Gram.from_kernel(X, mp.Gaussian(1.0))
problem = mp.Problem(gram, y)
solver = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3))
path = mp.run(solver, problem, 20, observe=["margin", "margin_upper"])
lower, upper = mp.margin_bounds(problem, path.last.u)
assert path.last.u.dtype == np.float32 and lower <= upper
again = mp.Gram.from_matrix(gram.K)
print((peak() - before) / (4 * n * n))
"""


@pytest.mark.heavy
def test_a_run_on_a_stored_gram_needs_little_more_than_the_gram():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert 1 <= float(done.stdout) < 1.2
