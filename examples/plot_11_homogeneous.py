"""
Largest margin and least norm, for models that are not linear
=============================================================

For a linear classifier the direction of largest margin is that of the shortest w with all margins at least 1.
The paper's lemma needs only that the model is positively 1-homogeneous in its weights: h(c w) = c h(w) for
c > 0. Here is one that is not linear: a unit with two inputs for each sample, of which the larger counts,
h_i(w) = max(⟨w, x_i⟩, ⟨w, z_i⟩).
"""

# %%
# Five samples, all to be given a positive value. The set where M(w) = min_i h_i(w) is at least 1 is not
# convex.
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(4)
x, z = rng.normal((1.0, 0.5), 0.6, (5, 2)), rng.normal((-0.3, 1.0), 0.6, (5, 2))


def margin(w):
    """Return M(w) of weights (..., 2)."""
    return np.maximum(w @ x.T, w @ z.T).min(axis=-1)


# %%
# The two problems are solved apart from each other: the largest margin by a search over directions, the least
# norm by a search over the points of the plane.
angles = np.linspace(-np.pi, np.pi, 100_001)
directions = np.column_stack([np.cos(angles), np.sin(angles)])
best = directions[margin(directions).argmax()]

side = np.linspace(-3, 3, 1501)
grid = np.stack(np.meshgrid(side, side), axis=-1)
inside = margin(grid) >= 1
shortest = grid[inside][np.linalg.norm(grid[inside], axis=1).argmin()]

# %%
# They agree: w₊ = w*/‖w*‖ and M(w₊) = 1/‖w*‖, to the width of the grid.
print("direction of largest margin ", best.round(3))
print("direction of the least norm ", (shortest / np.linalg.norm(shortest)).round(3))
print("largest margin, 1/least norm", margin(best).round(3), (1 / np.linalg.norm(shortest)).round(3))
assert np.allclose(best, shortest / np.linalg.norm(shortest), atol=0.02)
assert np.isclose(margin(best), 1 / np.linalg.norm(shortest), atol=0.02)

# %%
# A circle that grows from the origin first touches the set M ≥ 1 at w*; along the unit circle, M is largest
# in the same direction.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
radius = np.linalg.norm(shortest)
left.contourf(side, side, inside, levels=[0.5, 1.5], colors=["#CFE6F5"])
left.contour(side, side, inside, levels=[0.5], colors=["#0072B2"], linewidths=1.5)
left.plot(*(radius * directions[::500]).T, color="#5A5A5A", linewidth=1)
left.annotate("", shortest, (0, 0), arrowprops={"arrowstyle": "->", "color": "#D55E00", "linewidth": 2})
left.annotate("w*", shortest, (-4, 6), textcoords="offset points", color="#D55E00", ha="right", weight="bold")
left.text(1.2, 2.3, "M(w) ≥ 1", color="#0072B2", ha="center")
left.text(0, -0.7 * radius, "‖w‖ = ‖w*‖", color="#5A5A5A", ha="center")
left.set(aspect="equal", xlabel="w₁", ylabel="w₂")
left.set_title("the shortest w with all margins at least 1", loc="left")

best_angle = np.degrees(np.arctan2(*shortest[::-1]))
right.plot(np.degrees(angles), margin(directions), color="#0072B2", linewidth=2)
right.plot(best_angle, 1 / radius, "o", color="#D55E00")
right.annotate(
    "direction of w*,\nheight 1/‖w*‖",
    (best_angle, 1 / radius),
    (-8, 10),
    textcoords="offset points",
    color="#D55E00",
    ha="center",
)
right.set(
    xlabel="direction of w in degrees", ylabel="M(w)", xticks=np.arange(-180, 181, 90), ylim=(None, 1.1)
)
right.set_title("the margin on the circle ‖w‖ = 1", loc="left")
right.grid(color="#E6E6E6")
for panel in (left, right):
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
