"""
Watching the margin close
=========================

How wide can the strip between two classes be? Every step of a path answers with two numbers: the margin of
the classifier at hand, and a bound that no classifier can pass. The answer is between them, and they meet.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginpath as mp

rng = np.random.default_rng(0)
X = rng.normal((1.5, 2), (2, 1.5), (300, 2))
X = X[X @ (-0.6, 0.8) > 0.3][:80]  # one side of a strip ...
y = np.where(rng.random(80) < 0.5, 1, -1)
X *= y[:, None]  # ... and half of it turned over to the other

problem = mp.Problem(mp.Gram.linear(X), y)
_, norm = problem.norm_bounds()  # λ0 well below it: here only the end of the path matters
methods = {
    "Algorithm 1": mp.DualDescent(mp.PowerDecay(norm / 10)),
    "Algorithm 2": mp.DualDescent(mp.PowerDecay(norm / 10), momentum=mp.Inertia(alpha=10)),
    "coordinate sweeps": mp.CoordinateDescent(),
}
steps = 1000
paths = {
    name: mp.run(solver, problem, steps, observe=["margin_lower", "margin_upper"])
    for name, solver in methods.items()
}

# %%
# At first the boundary lies across the line between the means of the classes, and cuts into both. From step
# to step it turns, and ends in the middle of the widest strip.
path = paths["Algorithm 2"]
figure, panel = plt.subplots(figsize=(6.6, 4.8), layout="constrained")
for label, color in ((1, "#E69F00"), (-1, "#0072B2")):
    panel.scatter(
        *X[y == label].T, s=30, color=color, edgecolor="white", linewidth=0.5, label=f"class {label:+d}"
    )
shown = (1, 10, 30, 100, 300, 1000)
ends = np.array([-9.0, 9.0])
for step, color in zip(shown, plt.cm.Greys(np.linspace(0.3, 1, len(shown))), strict=True):
    w = -X.T @ (y * path.state(step, problem).u)
    panel.plot(ends, -ends * w[0] / w[1], color=color, linewidth=1.8, zorder=0, label=f"step {step}")
for side in (-1, 1):
    panel.plot(ends, (side - ends * w[0]) / w[1], color="black", linewidth=1, linestyle="--", zorder=0)
panel.set(xlim=(-5, 5), ylim=(-5, 5), aspect="equal", xlabel="feature 0", ylabel="feature 1")
panel.spines[["top", "right"]].set_visible(False)
panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)

# %%
# The interval is a proof: rounding is allowed for. On the right, its relative width. A run can stop as soon
# as that is small enough, with ``stop=mp.CertifiedMargin(tol=1e-6)``.
colors = dict(zip(methods, ("#CC79A7", "#009E73", "#0072B2"), strict=True))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
t = path.steps[1:]
for name, found in paths.items():
    lower, upper = found["margin_lower"][1:], found["margin_upper"][1:]
    gap = np.minimum.accumulate(upper) - np.maximum.accumulate(lower)
    right.plot(t, np.maximum(gap / upper, 1e-13), color=colors[name], linewidth=2, label=name)
lower, upper = path["margin_lower"][1:], path["margin_upper"][1:]
left.fill_between(t, lower, upper, color=colors["Algorithm 2"], alpha=0.18, linewidth=0)
left.plot(t, upper, color=colors["Algorithm 2"], linewidth=2)
left.plot(t, lower, color=colors["Algorithm 2"], linewidth=2)
left.set(xscale="log", xlabel="step", ylabel="margin", xlim=(1, steps))
left.set_title("the maximum margin is in here", loc="left", fontsize="medium")
right.set(xscale="log", yscale="log", xlabel="step", xlim=(1, steps), ylim=(1e-9, 3))
right.set_title("relative width of the interval", loc="left", fontsize="medium")
right.legend(frameon=False, loc="lower left")
for panel in (left, right):
    panel.xaxis.set_major_formatter("{x:g}")
    panel.grid(color="#E6E6E6")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# ``maximum_margin`` goes all the way: a rough path, then an exact finish.
found = mp.maximum_margin(problem)
print(found.status.sentence)
print("lower and upper bound:", *found.margin_bounds)
