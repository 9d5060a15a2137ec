"""
One run instead of a grid
=========================

The usual way to choose the C of a support vector machine is to fit it anew for every C of a grid, in every
fold. A path passes through all of them in one run, and its folds run side by side with it.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import marginpath as mp

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
wrong = np.random.default_rng(0).permutation(len(y))[: len(y) // 10]
y[wrong] = 1 - y[wrong]  # a tenth of the diagnoses are wrong
folds = StratifiedKFold(5, shuffle=True, random_state=0)

mp.MarginPathClassifier().fit(X[:50], y[:50])  # compiles, once for an installation

# %%
# The same folds and the same kernel for both. The grid is 13 fits in each of 5 folds, and one more on all
# the samples.
begin = time.perf_counter()
grid = GridSearchCV(SVC(), {"C": np.logspace(-2, 4, 13)}, cv=folds).fit(X, y)
grid_seconds = time.perf_counter() - begin

begin = time.perf_counter()
clf = mp.MarginPathClassifier(cv=folds, random_state=0).fit(X, y)
path_seconds = time.perf_counter() - begin

print(f"grid: C = {grid.best_params_['C']:.2g}, error {1 - grid.best_score_:.1%}, {grid_seconds:.2f} s")
path_score = clf.cv_results_["mean_test_score"]
print(f"path: C = {clf.C_:.2g}, error {1 - path_score.max():.1%}, {path_seconds:.2f} s")

# %%
# ``cv_results_`` has the keys that one knows from ``GridSearchCV``, with one row for every step.
path_C, path_error = clf.cv_results_["param_C"], 1 - path_score
grid_C, grid_error = grid.cv_results_["param_C"], 1 - grid.cv_results_["mean_test_score"]

figure, panel = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
path_label, grid_label = f"a path: one run, {path_seconds:.1f} s", f"a grid: 66 fits, {grid_seconds:.1f} s"
panel.plot(path_C, path_error, ".-", color="#0072B2", linewidth=2, label=path_label)
hollow = {"markersize": 10, "markerfacecolor": "none", "markeredgewidth": 2}
panel.plot(grid_C, grid_error, "o", color="#D55E00", **hollow, label=grid_label)
best = clf.step_ - 1
panel.plot(path_C[best], path_error[best], "o", color="#0072B2", markersize=11, markeredgecolor="white")
panel.annotate("kept", (path_C[best], path_error[best]), (0, -16), textcoords="offset points", ha="center")
panel.set(xscale="log", xlabel="C", ylabel="error, 5-fold cross-validation")
panel.yaxis.set_major_formatter("{x:.0%}")
panel.set_ylim(bottom=min(path_error.min(), grid_error.min()) - 0.03)
panel.grid(color="#E6E6E6")
panel.set_axisbelow(True)
panel.spines[["top", "right"]].set_visible(False)
panel.legend(frameon=False)
plt.show()

# %%
# The circles lie on the line, but for a sample or two: every step of the path is the support vector machine
# at its C, with the intercept that ``SVC`` has, to a duality gap of a thousandth of the objective. So it is
# on :doc:`twelve other data sets </comparison>`, step by step. The path has more steps than the grid has
# values where the best C is, and stops by itself once C has grown tenfold without a better score, so that
# it does not visit the slow end of the grid.
