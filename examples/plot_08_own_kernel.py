"""
Your own kernel
===============

Is it dark outside? That depends on the hour and on the day of the year, and both come round again: 23:59 is
next to 0:00, and 31 December to 1 January. The usual kernels do not know that. One that does is a function
of two lines.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginpath as mp


def is_dark(X):
    """Say whether the sun is below the horizon, at 60° north, from hour and day."""
    hour, day = X.T
    declination = np.radians(-23.44) * np.cos(2 * np.pi * (day + 10) / 365)
    latitude, angle = np.radians(60), np.pi * (hour - 12) / 12
    height = np.sin(latitude) * np.sin(declination) + np.cos(latitude) * np.cos(declination) * np.cos(angle)
    return np.where(height < 0, "dark", "light")


rng = np.random.default_rng(0)
X = rng.uniform(0, (24, 365), (150, 2))
y = is_dark(X)
mistaken = rng.permutation(len(y))[:15]  # a tenth of the notes are wrong
y[mistaken] = np.where(y[mistaken] == "dark", "light", "dark")

# %%
# A kernel gets two arrays and returns the matrix of all pairs. This one is a Gaussian of the positions on
# two circles, so it is positive semi-definite, as a kernel must be. Further arguments come from
# ``kernel_params``.


def come_round(X, Z, periods, width):
    """Return the periodic kernel exp(−Σ_j (1 − cos(2π (x_j − z_j)/period_j)) / width²)."""
    turns = 2 * np.pi * (X[:, None, :] - Z[None, :, :]) / np.asarray(periods)
    return np.exp(-np.sum(1 - np.cos(turns), axis=2) / width**2)


periodic = mp.MarginPathClassifier(
    come_round, kernel_params={"periods": (24, 365), "width": 0.7}, random_state=0
).fit(X, y)


# %%
# For comparison, the Gaussian kernel with hour and day brought to the same scale, and the best of ten
# widths.
def scaled(X):
    """Bring hour and day to [0, 1]."""
    return X / (24, 365)


gaussian = mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(scaled(X), y)

hours, days = np.linspace(0, 24, 200), np.linspace(0, 365, 200)
everywhere = np.stack(np.meshgrid(days, hours), axis=-1).reshape(-1, 2)[:, ::-1]
truth = is_dark(everywhere)
values = {
    "Gaussian kernel": gaussian.decision_function(scaled(everywhere)),
    "a kernel that comes round": periodic.decision_function(everywhere),
}

# %%
# The truth is the dashed line. At the edges, where the Gaussian kernel has samples on one side only, the
# periodic one looks at what lies beyond.
colors = {"dark": "#0B3C5D", "light": "#F2C14E"}
figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained", sharey=True)
for panel, (name, value) in zip(panels, values.items(), strict=True):
    levels = [-np.inf, 0, np.inf]  # light is the second class, the positive one
    panel.contourf(days, hours, value.reshape(200, 200), levels, colors=list(colors.values()), alpha=0.45)
    panel.contour(
        days, hours, truth.reshape(200, 200) == "dark", levels=[0.5], colors="black", linestyles="--"
    )
    for label, color in colors.items():
        hour, day = X[y == label].T
        panel.scatter(day, hour, s=28, color=color, edgecolor="white", linewidth=0.7, label=f"noted: {label}")
    error = np.mean(np.where(value > 0, "light", "dark") != truth)
    panel.set_title(f"{name}: {error:.1%} wrong", loc="left", fontweight="bold")
    panel.set(xlim=(0, 365), ylim=(0, 24), yticks=range(0, 25, 6))
    panel.set_xticks([15, 105, 196, 288], ["January", "April", "July", "October"])
    panel.spines[:].set_visible(False)
panels[0].set_ylabel("hour")
panels[0].plot([], [], color="black", linestyle="--", label="sunrise and sunset")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
plt.show()
