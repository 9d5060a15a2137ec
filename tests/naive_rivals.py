"""Naive references of the rivals: short, slow, from the definitions, sharing no code with the package.

All work on A = diag(y) K diag(y), one column, and return v with w = Zᵀv.
"""

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize


def gradient_descent(A, steps, step_size, derivative):
    v = np.zeros(len(A))
    for _ in range(steps):
        v = v - step_size * derivative(A @ v)
    return v


def normalized_gradient(A, steps, step_size, first=1):
    v = np.zeros(len(A))
    for t in range(first, first + steps):
        r = np.exp(-A @ v)
        v = v + step_size * r / np.sqrt(t * (r @ A @ r))
    return v


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def mirror_descent(A, steps, step_size, accelerated=False, first=1):
    n = len(A)
    v, g, q = np.zeros(n), np.zeros(n), np.ones(n) / n
    for t in range(first, first + steps):
        g = t / (t + 1) * (g + q) if accelerated else 0.0
        v = v + step_size * (g + q)
        q = softmax(-A @ v)
    return v


def perceptron(A, steps):
    v = np.zeros(len(A))
    for k in range(steps):
        θ = 1 / (k + 1)
        i = np.argmin(A @ v)
        v = (1 - θ) * v
        v[i] += θ
    return v


def smooth_perceptron(A, steps):
    n = len(A)
    α, μ = np.ones(n) / n, 2 * np.diag(A).max()
    p = softmax(-A @ α / μ)
    for k in range(steps):
        θ = 2 / (k + 3)
        α = (1 - θ) * (α + θ * p) + θ**2 * softmax(-A @ α / μ)
        μ = (1 - θ) * μ
        p = (1 - θ) * p + θ * softmax(-A @ α / μ)
    return α


def subgradient(A, steps, step_size):
    v = np.zeros(len(A))
    for t in range(1, steps + 1):
        v = v + step_size / np.sqrt(t) * (A @ v < 1)
    return v


def homotopic(A, steps, lambda0):
    v, average = np.zeros(len(A)), np.zeros(len(A))
    for t in range(1, steps + 1):
        λ = lambda0 * 2 ** (-np.floor(np.log2(t)) / 3)
        v = v - 1 / (λ * t) * (λ * v - (A @ v < 1))
        average = average + 4 / (t + 3) * (v - average)
    return average


def pegasos(A, lam, samples):
    n = len(A)
    v = np.zeros(n)
    for t, i in enumerate(samples, start=1):
        η = n / (lam * t) * (A[i] @ v < 1)
        v = (1 - 1 / t) * v
        v[i] += η
    return v


def tikhonov_smooth(X, y, λ, value, derivative):
    """The primal minimiser w of Σ ℓ(y⟨w, x⟩) + λ/2 ‖w‖² by a quasi-Newton method."""
    Z = y[:, None] * X

    def objective(w):
        return value(Z @ w).sum() + λ / 2 * w @ w, Z.T @ derivative(Z @ w) + λ * w

    options = {"gtol": 1e-13, "ftol": 1e-16, "maxiter": 10_000, "maxfun": 100_000}
    return minimize(objective, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options=options).x


def tikhonov_hinge(K, y, λ):
    """The dual minimiser v of ½ vᵀA v − Σ v over [0, 1/λ] by an interior-point solver."""
    n = len(y)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    P = sp.csc_matrix(np.triu(np.outer(y, y) * K))
    G = sp.csc_matrix(np.vstack([-np.eye(n), np.eye(n)]))
    h = np.concatenate([np.zeros(n), np.full(n, 1 / λ)])
    cone = [clarabel.NonnegativeConeT(2 * n)]
    return np.array(clarabel.DefaultSolver(P, -np.ones(n), G, h, cone, settings).solve().x)
