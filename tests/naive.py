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


def regularized(Z, offset, bound, loss, l1=0.0):
    """w of min ½‖w‖² + l1‖w‖₁ + Σ b_i ℓ(r_i), r = offset − Zw, by an interior-point solver.

    ``loss`` is (ε, c, p, q): the supremum of a r − ε|a| − c a²/2 over a ∈ [−p, q]. As an infimal convolution,
    r = e + h + up − down with |e| ≤ ε, and the cost is h²/(2c) + q up + p down. A bound of infinity asks for
    |r| ≤ ε.
    """
    ε, c, p, q = loss
    n, d = Z.shape
    b = np.broadcast_to(np.asarray(bound, dtype=float), n)
    # variables: w (d), s (d), e (n) the insensitive part, h (n) the curved part, up (n), down (n)
    zero, one = np.zeros, np.eye
    P = np.zeros(2 * d + 4 * n)
    P[:d] = 1.0
    cost = np.concatenate([zero(d), np.full(d, l1), zero(4 * n)])
    hard = not np.all(np.isfinite(b))
    if not hard:
        if c > 0:
            P[2 * d + n : 2 * d + 2 * n] = b / c
        cost[2 * d + 2 * n : 2 * d + 3 * n] = b * (q if np.isfinite(q) else 0)
        cost[2 * d + 3 * n :] = b * (p if np.isfinite(p) else 0)
    sums = np.hstack([Z, zero((n, d)), one(n), one(n), one(n), -one(n)])  # Zw + e + h + up − down = offset
    fixed = [sums]
    values = [np.asarray(offset, dtype=float)]

    def fix(first):
        row = zero((n, 2 * d + 4 * n))
        row[:, first : first + n] = one(n)
        fixed.append(row)
        values.append(zero(n))

    if hard or c == 0:
        fix(2 * d + n)
    if hard or not np.isfinite(q):
        fix(2 * d + 2 * n)
    if hard or not np.isfinite(p):
        fix(2 * d + 3 * n)
    E = np.vstack(fixed)
    w, s = np.hstack([one(d), zero((d, d + 4 * n))]), np.hstack([zero((d, d)), one(d), zero((d, 4 * n))])
    e = np.hstack([zero((n, 2 * d)), one(n), zero((n, 3 * n))])
    up = np.hstack([zero((n, 2 * d + 2 * n)), one(n), zero((n, n))])
    down = np.hstack([zero((n, 2 * d + 3 * n)), one(n)])
    G = np.vstack([w - s, -w - s, e, -e, -up, -down])
    h = np.concatenate([zero(2 * d), np.full(2 * n, ε), zero(2 * n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.ZeroConeT(len(E)), clarabel.NonnegativeConeT(len(G))]
    A, target = sp.csc_matrix(np.vstack([E, G])), np.concatenate([*values, h])
    return np.array(
        clarabel.DefaultSolver(sp.diags(P, format="csc"), cost, A, target, cones, settings).solve().x[:d]
    )
