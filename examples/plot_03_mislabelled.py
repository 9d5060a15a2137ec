"""
Finding mislabelled points
==========================

Somebody typed in the labels of 1,797 digits and got one in fifty wrong. Which ones? A classifier that stops
in time contradicts them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import marginpath as mp

digits = load_digits()
X, y_true = digits.data / 16, digits.target

rng = np.random.default_rng(1)
y = y_true.copy()
wrong = rng.permutation(len(y))[: len(y) // 50]
y[wrong] = (y[wrong] + rng.integers(1, 10, len(wrong))) % 10

# %%
# ``out_of_fold_`` holds ten decision values of each sample, by the fold that did not train on it and so
# could not learn its label. The margin is the value of the label less the largest of the others: the lower
# it is, the more suspicious.
clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
own = np.arange(10) == y[:, None]
margin = clf.out_of_fold_[own] - np.where(own, -np.inf, clf.out_of_fold_).max(axis=1)
suspects = np.argsort(margin)

is_wrong = y != y_true
print(f"{is_wrong.sum()} labels are wrong; {np.sum(margin < 0)} samples have a negative margin.")
print(
    f"Of the {is_wrong.sum()} most suspicious ones, {is_wrong[suspects[: is_wrong.sum()]].sum()} are wrong."
)

# %%
# The 40 most suspicious samples, with the label that was typed in: orange where it is wrong indeed, blue
# where it is right.
figure, panels = plt.subplots(4, 10, figsize=(9.5, 4.6), layout="constrained")
for panel, i in zip(panels.flat, suspects, strict=False):
    panel.imshow(digits.images[i], cmap="gray_r", interpolation="bilinear")
    panel.set(xticks=[], yticks=[])
    color = "#D55E00" if is_wrong[i] else "#0072B2"
    panel.spines[:].set(color=color, linewidth=2.5)
    panel.set_title(f"“{y[i]}”", color=color, fontsize=11)

# %%
# Who checks labels by hand wants to look at few. Going down the list finds nearly all wrong labels at once;
# what comes after them are digits that are hard to read.
found = np.cumsum(is_wrong[suspects]) / is_wrong.sum()
looked = np.arange(1, len(y) + 1)
shown = slice(0, 4 * is_wrong.sum())

figure, panel = plt.subplots(figsize=(7, 3.8), layout="constrained")
panel.plot(looked[shown], found[shown], color="#D55E00", linewidth=2.5, label="by the margin")
panel.plot(looked[shown], looked[shown] / len(y), color="#5A5A5A", linestyle="--", label="in any order")
panel.axvline(is_wrong.sum(), color="#5A5A5A", linewidth=1, linestyle=":")
panel.text(is_wrong.sum() + 1.5, 0.5, "as many as\nthere are", color="#5A5A5A", va="center")
panel.set(xlabel="samples looked at", ylabel="wrong labels found", ylim=(0, 1.03), xlim=(0, None))
panel.yaxis.set_major_formatter("{x:.0%}")
panel.grid(color="#E6E6E6")
panel.spines[["top", "right"]].set_visible(False)
panel.legend(frameon=False, loc="center right")
plt.show()
