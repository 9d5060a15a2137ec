"""
A model for a small device
==========================

A wrist band tells walking from standing by a classifier that has to fit into a few kilobytes. The one that
was fitted keeps hundreds of vectors. A few of them, with other coefficients, do nearly the same.
"""

import pickle

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import marginpath as mp

rng = np.random.default_rng(0)
n = 1200
walking = rng.random(n) < 0.5
time = np.linspace(0, 2, 40)
beats = rng.uniform(1.4, 2.4, n)[:, None] * time + rng.random(n)[:, None]
signal = walking[:, None] * np.sin(2 * np.pi * beats) + 0.9 * rng.standard_normal((n, 40))
features = np.abs(np.fft.rfft(signal, axis=1))[:, 1:9]  # eight numbers for two seconds
X, X_new, y, y_new = train_test_split(features, np.where(walking, "walking", "standing"), random_state=0)

clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
print(f"{len(clf.support_)} vectors, {1 - clf.score(X_new, y_new):.1%} wrong on new rows")

# %%
# How many vectors are needed? The display compresses the classifier to several sizes. The grey line is the
# share of training rows whose label is another one than before.

display = mp.CompressionDisplay.from_estimator(clf, X_new, y_new)
display.ax_.set_title("fewer vectors, the same answers")

# %%
# With a twentieth of them, this is left. What a file or a device has to carry are the vectors and one
# coefficient for each; beside them, a pickle has what the fit was and what ``predict_set`` goes by, which
# ``slim(rounded=True)`` shortens to some quantiles. The bound below stays true of what is rounded.

small = clf.compress(max(4, len(clf.support_) // 20))
kept = small.compression_
print(f"{kept.n_vectors} of {kept.n_before} vectors, by refit={kept.refit!r}")
print(f"wrong on new rows: {1 - small.score(X_new, y_new):.1%}")
rounded = small.slim(rounded=True)
for name, model in (
    ("whole path", clf),
    ("slim", clf.slim()),
    ("compressed", small),
    ("compressed, rounded", rounded),
):
    print(f"{name:>19}: {len(pickle.dumps(model)) / 1e3:7.1f} kB")
numbers = rounded.support_vectors_.size + rounded.dual_coef_.size + rounded.intercept_.size
print(f"numbers in the decision function: {numbers}, in float32 {4 * numbers} bytes")

# %%
# The compressed classifier comes with a bound on how far its decision values can be from those of before, for
# any row and with all rounding in it; ``refit="projection"`` makes it smallest. Rows whose decision value is
# larger certainly keep their label.

sizes = np.geomspace(4, 0.9 * len(clf.support_), 9).astype(int)
models = [clf.compress(int(size), refit="projection") for size in sizes]
certain = [100 * np.mean(model.certain(X_new)) for model in models]
same = [100 * np.mean(model.predict(X_new) == clf.predict(X_new)) for model in models]

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(sizes, same, "o-", color="#0072B2", label="same label as before")
ax.plot(sizes, certain, "s--", color="#D55E00", label="certainly so")
ax.set(xscale="log", xlabel="vectors", ylabel="% of the new rows")
ax.set_title("what is proved about the labels")
ax.grid(color="#E6E6E6")
ax.set_axisbelow(True)
ax.xaxis.set_major_formatter("{x:g}")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
