"""Two moons with wrong labels: any size, nothing to download."""

import numpy as np
from benchopt import BaseDataset
from sklearn.datasets import make_moons


class Dataset(BaseDataset):
    """Moons, of which a share of the training labels is flipped."""

    name = "Moons"
    parameters = {"n_samples": [1000], "flipped": [0.0, 0.1]}
    test_parameters = {"n_samples": [60], "flipped": [0.1]}
    requirements = ["scikit-learn"]

    def get_data(self):
        """Return samples, labels ±1 and the gamma of the kernel."""
        X, y = make_moons(self.n_samples + 2000, noise=0.2, random_state=0)
        y = 2 * y - 1
        n = self.n_samples
        train = y[:n].copy()
        train[np.random.default_rng(0).permutation(n)[: round(self.flipped * n)]] *= -1
        return {"X": X[:n], "y": train, "X_test": X[n:], "y_test": y[n:], "gamma": 1 / (2 * X[:n].var())}
