"""
Noisy labels
============

A fifth of the training labels are wrong. A path starts with a classifier that is too simple, and ends with
one that has learned the wrong labels by heart. The best one is in between, and cross-validation along the
path finds it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import marginpath as mp

X, y_true = make_moons(300, noise=0.2, random_state=1)
X_new, y_new = make_moons(2000, noise=0.2, random_state=2)

y = y_true.copy()
wrong = np.random.default_rng(0).permutation(len(y))[: len(y) // 5]
y[wrong] = 1 - y[wrong]

# %%
# One fit. There is no C to choose: the step takes its place. The width of the kernel still matters:
# ``gamma=2`` was picked so that all three stages can be seen. A narrower kernel starts close to its best
# step.
clf = mp.MarginPathClassifier(gamma=2, random_state=0).fit(X, y)
print(f"Step {clf.step_} of {clf.n_iter_} is kept, where C = {clf.C_:.2g}.")

# %%
# All the steps are still there: ``at(step)`` is the classifier as it stood then. The first one is too plain
# for the moons, the one that is kept follows them, and the last one has bent itself around wrong labels.
chosen = {"the first step": 1, "the step that is kept": clf.step_, "the last step": clf.n_iter_}

figure, panels = plt.subplots(1, 3, figsize=(9.5, 3.7), layout="constrained", sharex=True, sharey=True)
for panel, (name, step) in zip(panels, chosen.items(), strict=True):
    then = clf.at(step)
    mp.MarginDisplay.from_estimator(then, X, y, ax=panel)
    panel.get_legend().remove()
    panel.collections[-1].remove()  # the rings around support vectors
    panel.set(xticks=[], yticks=[], xlabel="", ylabel="")
    panel.spines[:].set_visible(False)
    told = f"step {step}: {1 - then.score(X_new, y_new):.1%} of new samples wrong"
    panel.set_title(f"$\\bf{{{name.replace(' ', '~')}}}$\n{told}", fontsize="medium")
names = ["boundary", "f(x) = ±1", "class 0", "class 1"]
known = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
figure.legend([known[n] for n in names], names, loc="outside lower center", ncols=4, frameon=False)

# %%
# The error along the whole path. Cross-validation sees the wrong labels too, so its curve lies higher, by
# about their share; what counts is that it is lowest at about the same step as the error on new, correctly
# labelled samples.
display = mp.PathDisplay.from_estimator(clf, X_new, y_new)
display.ax_[0].legend(loc=(0.03, 0.36), frameon=False)
plt.show()
