"""Naive references: short, slow, written from the definitions, sharing no code with the package."""

import clarabel
import numpy as np
import scipy.sparse as sp


def gaussian(X, Z, sigma):
    return np.array([[np.exp(-np.sum((x - z) ** 2) / (2 * sigma**2)) for z in Z] for x in X])


def dual_descent(K, y, schedule, steps, step_size, momentum=lambda t: 0.0, u=None):
    """Algorithms 1 and 2 for one column, a list of u_0, u_1, ..."""
    A = np.outer(y, y) * K
    path = [np.zeros(len(y)) if u is None else u]
    previous = path[0]
    for t in range(1, steps + 1):
        q = path[-1] + momentum(t) * (path[-1] - previous)
        bound = np.inf if schedule(t) == 0 else 1 / schedule(t)
        previous = path[-1]
        path.append(np.clip(q - step_size * (A @ q + 1), -bound, 0))
    return path


def hard_margin(K, y):
    """u* and the maximum margin from an interior-point solver: min ½ vᵀAv − Σv, v ≥ 0."""
    n = len(y)
    A = np.outer(y, y) * K
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    P = sp.csc_matrix(np.triu(A + 1e-14 * np.trace(A) / n * np.eye(n)))
    G = sp.csc_matrix(-np.eye(n))
    solver = clarabel.DefaultSolver(P, -np.ones(n), G, np.zeros(n), [clarabel.NonnegativeConeT(n)], settings)
    v = np.maximum(np.array(solver.solve().x), 0)
    return -v, 1 / np.sqrt(v @ A @ v)


def svm(K, y, bound, intercept=False):
    """u and D(u) of the SVM from an interior-point solver: min ½ vᵀAv − Σv, 0 ≤ v ≤ bound, and yᵀv = 0."""
    n = len(y)
    A, bound = np.outer(y, y) * K, np.broadcast_to(bound, n)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    upper = np.isfinite(bound)
    G = np.vstack([np.tile(y, (int(intercept), 1)).reshape(-1, n), -np.eye(n), np.eye(n)[upper]])
    h = np.concatenate([np.zeros(int(intercept)), np.zeros(n), bound[upper]])
    cones = [clarabel.ZeroConeT(1)] * intercept + [clarabel.NonnegativeConeT(n + int(upper.sum()))]
    P = sp.csc_matrix(np.triu(A + 1e-14 * np.trace(A) / n * np.eye(n)))
    x = clarabel.DefaultSolver(P, -np.ones(n), sp.csc_matrix(G), h, cones, settings).solve().x
    v = np.clip(np.array(x), 0, bound)
    return -v, v @ A @ v / 2 - v.sum()


def soft_margin_with_intercept(K, y, weights, C):
    """The dual of the SVM with an unpenalized intercept, by an interior-point solver: u and the intercept."""
    n = len(y)
    P = sp.triu(sp.csc_matrix(K * np.outer(y, y)), format="csc")
    A = sp.csc_matrix(np.vstack([y[None], np.eye(n), -np.eye(n)]))
    bounds = np.concatenate([[0.0], np.zeros(n), C * weights])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solved = clarabel.DefaultSolver(P, np.ones(n), A, bounds, cones, settings).solve()
    return np.array(solved.x), -solved.z[0]


def separable(seed, n, d, gap=0.2):
    """Points that a line through the origin separates with margin at least ``gap``; both classes occur."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    X = rng.standard_normal((n, d))
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X += np.outer(y * (gap + np.abs(X @ w)) - X @ w, w)
    return X, y


def random_problem(seed, n, kind):
    """(X, K, y) of a separable problem: a linear one, or a Gaussian kernel with random labels."""
    if kind == "linear":
        X, y = separable(seed, n, 3)
        return X, X @ X.T, y
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = rng.permutation(np.where(np.arange(n) % 2, 1.0, -1.0))
    return X, gaussian(X, X, 0.7), y


def far_apart():
    """Return X, X with 168 of its 200 rows replaced, and y; eight rows spread over X are alike in both.

    The others are far from them and orthogonal to them: kernel values between the groups tell nothing.
    """
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), rng.choice([-1, 1], 200)
    spread = np.linspace(0, 199, 8).astype(int)
    few = np.union1d(spread, np.setdiff1d(np.arange(200), spread)[:24])
    rest = np.setdiff1d(np.arange(200), few)
    X[few, 1:] = 0
    X[rest, 0], X[rest, 1] = 0, 50 + X[rest, 1]
    other = X.copy()
    other[rest, 1:] += 0.5
    assert np.count_nonzero((other != X).any(axis=1)) == 168
    return X, other, y
