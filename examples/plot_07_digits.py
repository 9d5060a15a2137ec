"""
Ten digits at once
==================

With several classes each is told from the rest, and all of them, with all folds of the cross-validation,
are columns of the same run. Margins then say which samples are easy and which are not.
"""

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import PowerNorm
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import marginpath as mp

digits = load_digits()
X, X_new, y, y_new = train_test_split(digits.data / 16, digits.target, stratify=digits.target, random_state=0)

clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
print(
    f"Step {clf.step_} of {clf.n_iter_} is kept; {1 - clf.score(X_new, y_new):.1%} of the test digits wrong."
)

# %%
# The margin of a sample is the decision value of its class less the largest of the others.
display = mp.MarginDisplay.from_estimator(clf, X_new, y_new)

# %%
# The test digits that were hardest: those with the smallest margins, above the probabilities of the ten
# classes. Blue is the label.
hardest = np.argsort(display.margins)[:10]
chance = clf.predict_proba(X_new[hardest])

figure, panels = plt.subplots(2, 10, figsize=(11, 2.6), layout="constrained", height_ratios=(5, 3))
for column, i in enumerate(hardest):
    image, bars = panels[:, column]
    image.imshow(X_new[i].reshape(8, 8), cmap="gray_r", interpolation="bilinear")
    image.set(xticks=[], yticks=[])
    image.set_title(f"“{y_new[i]}”", fontsize=11)
    image.spines[:].set_visible(False)
    colors = ["#0072B2" if digit == y_new[i] else "#D55E00" for digit in clf.classes_]
    bars.bar(clf.classes_, chance[column], color=colors)
    for digit in np.argsort(chance[column])[-2:]:
        bars.text(digit, chance[column, digit] + 0.04, digit, ha="center", va="bottom", fontsize=9)
    bars.set(ylim=(0, 1.3), yticks=[], xticks=[])
    bars.spines[["top", "right", "left"]].set_visible(False)
panels[1, 0].set_ylabel("probability")

# %%
# Early steps mix up what looks alike; the path sorts it out. The test error of every step, digit by digit:
stages = np.array(list(clf.staged_predict(X_new)))
error = np.array([[np.mean(stage[y_new == digit] != digit) for stage in stages] for digit in clf.classes_])

figure, panel = plt.subplots(figsize=(8, 3.8), layout="constrained")
norm = PowerNorm(0.5, 0, error.max())
picture = panel.pcolormesh(
    np.arange(len(stages)) + 1, clf.classes_, error, cmap="Blues", norm=norm, edgecolor="white", linewidth=1
)
panel.invert_yaxis()
panel.spines[:].set_visible(False)
panel.axvline(clf.step_, color="#D55E00", linewidth=2)
panel.text(clf.step_, -0.65, "kept", color="#D55E00", ha="center")
panel.set(xlabel="step", ylabel="digit", yticks=range(10))
figure.colorbar(picture, format="{x:.0%}", label="test error")
plt.show()
