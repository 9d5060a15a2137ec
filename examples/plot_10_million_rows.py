"""
A million rows on a laptop
==========================

A kernel matrix of a million rows has 4 TB. Landmarks see the kernel through a few of the rows instead: what
is left is a linear problem, whose memory grows with rows times landmarks. How many are enough? Here for
20,000 rows, so that this page is made in a minute; the last lines say what to change for a million.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logsumexp

import marginpath as mp

rng = np.random.default_rng(0)
centres = 0.7 * rng.standard_normal((16, 20))  # eight Gaussians for each of two classes


def draw(n):
    """Return n rows of 20 columns, and their labels."""
    of = rng.integers(0, 16, n)
    return (centres[of] + rng.standard_normal((n, 20))).astype(np.float32), of // 8


def least_error(X):
    """Return what nobody can do better on these rows: the densities of both classes are known."""
    squares = ((X[:, None, :] - centres) ** 2).sum(axis=2)
    first, second = (logsumexp(-part / 2, axis=1) for part in np.hsplit(squares, 2))
    return np.mean(expit(-np.abs(first - second)))


X, y = draw(20_000)
X_new, y_new = draw(10_000)
mp.MarginPathClassifier(landmarks=20, random_state=0).fit(X[:3000], y[:3000])  # compiles what is needed

# %%
# Every fit chooses its C by five folds. The seconds, of the machine that made this page, are all there is:
# choosing landmarks, features, folds, and the model of all the rows. ``trace_error_`` is the share of the
# trace of the kernel matrix that the landmarks do not see.
counts = [50, 100, 200, 400]
errors, unseen = [], []
for m in counts:
    begin = time.perf_counter()
    clf = mp.MarginPathClassifier(landmarks=m, random_state=0).fit(X, y)
    seconds = time.perf_counter() - begin
    errors.append(1 - clf.score(X_new, y_new))
    unseen.append(clf.trace_error_)
    print(f"{m:4} landmarks: error {errors[-1]:.1%} after {seconds:.1f} s; not seen: {unseen[-1]:.0%}")

# %%
# The kernel matrix need not be known well: only what of it tells the classes apart. The error comes near the
# least there is, while a third of the trace is still not seen.
figure, panel = plt.subplots(figsize=(7, 4), layout="constrained")
panel.plot(counts, unseen, "s:", color="#5A5A5A")
panel.plot(counts, errors, "o-", color="#0072B2", linewidth=2)
least = least_error(X_new)
panel.axhline(least, color="#D55E00", linestyle="--")
for text, place, rise, color in (
    ("share of the trace not seen", (counts[1], unseen[1]), 8, "#5A5A5A"),
    ("test error", (counts[1], errors[1]), 8, "#0072B2"),
    ("the least error there is", (counts[1], least), -14, "#D55E00"),
):
    panel.annotate(text, place, xytext=(4, rise), textcoords="offset points", color=color)
panel.set(xscale="log", xticks=counts, xlabel="landmarks", ylim=(0, None))
panel.xaxis.set_major_formatter("{x:g}")
panel.minorticks_off()
panel.yaxis.set_major_formatter("{x:.0%}")
panel.set_title("20,000 rows through a few of them", loc="left")
panel.grid(color="#E6E6E6")
panel.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# For a million rows, ``draw(1_000_000)`` and ``MarginPathClassifier()`` as it comes: a matrix that does not
# fit into ``cache_size`` is seen by landmarks, as many as fit. The page *More than 20,000 rows* says how
# many, and what is not exact.
