"""
Comparing all methods
=====================

Many algorithms lead to the maximum margin: perceptrons, boosting-like mirror descent, gradient methods on
the exponential loss, subgradients of the hinge loss, and the paths of this package. All are solvers of the
same interface, so that a comparison is a loop.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginpath as mp

rng = np.random.default_rng(0)
X = rng.standard_normal((100, 40))
y = np.where(X @ rng.standard_normal(40) > 0, 1, -1)
X /= np.linalg.norm(X, axis=1).max()
problem = mp.Problem(mp.Gram.linear(X), y)

best = mp.maximum_margin(problem)
largest = float(best.margin_bounds[0])
print(f"The maximum margin is {largest:.8f}.")

# %%
# Default settings where there are any. The paths have λ = 1/t, and the λ of Pegasos, 0.01, is a guess: it
# decides where that run leads. An update is one product with the kernel matrix; the perceptron and Pegasos
# read a single row of it, and a sweep about as many rows as coordinates that move.
solvers = {
    "coordinate sweeps": mp.CoordinateDescent(),
    "Algorithm 2": mp.DualDescent(mp.PowerDecay(1.0), momentum=mp.Inertia(alpha=3)),
    "Algorithm 1": mp.DualDescent(mp.PowerDecay(1.0)),
    "accelerated mirror descent": mp.MirrorDescent(accelerated=True),
    "mirror descent": mp.MirrorDescent(),
    "normalized gradient": mp.NormalizedGradient(),
    "perceptron": mp.Perceptron(),
    "Pegasos": mp.Pegasos(lambda0=0.01),
    "subgradient": mp.Subgradient(),
    "gradient, exponential loss": mp.GradientDescent(),
    "homotopic subgradient": mp.HomotopicSubgradient(),
    "smooth perceptron": mp.Perceptron(smooth=True),
}
steps = 2000
paths = {name: mp.run(solver, problem, steps, observe=["margin"]) for name, solver in solvers.items()}

# %%
# The margin gap, relative to the maximum margin: 1 is a classifier that just separates the samples, and 0
# is the best one. The smallest gap so far is drawn.
colors = ("#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#000000")
figure, panel = plt.subplots(figsize=(8.6, 5), layout="constrained")
reached = {}
for i, (name, path) in enumerate(paths.items()):
    gap = np.minimum.accumulate(1 - path["margin"] / largest)[1:]
    reached[name] = max(gap[-1], 1e-9)
    style = "-" if i < len(colors) else (0, (4, 1.5))
    clear = gap > 1e-9
    panel.plot(
        path.steps[1:][clear],
        gap[clear],
        color=colors[i % len(colors)],
        linestyle=style,
        linewidth=2,
        label=name,
    )
panel.set(xscale="log", yscale="log", xlim=(1, steps), ylim=(1e-9, 1.5), xlabel="updates")
panel.set_ylabel("margin gap / maximum margin")
panel.xaxis.set_major_formatter("{x:g}")
panel.grid(color="#E6E6E6")
panel.set_axisbelow(True)
panel.spines[["top", "right"]].set_visible(False)
lines, names = panel.get_legend_handles_labels()
order = sorted(range(len(names)), key=lambda i: -reached[names[i]])
panel.legend(
    [lines[i] for i in order],
    [names[i] for i in order],
    loc="center left",
    bbox_to_anchor=(1.01, 0.5),
    frameon=False,
)
plt.show()

# %%
# The legend is ordered by where the runs end; the smooth perceptron and accelerated mirror descent end
# together. The :doc:`comparison </comparison>` has three problems, seconds, and the rates that are proved.
