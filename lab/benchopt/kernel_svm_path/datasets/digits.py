"""Odd and even digits: 64 pixels, ships with scikit-learn."""

import numpy as np
from benchopt import BaseDataset
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class Dataset(BaseDataset):
    """Odd digits against even ones."""

    name = "Digits"
    requirements = ["scikit-learn"]

    def get_data(self):
        """Return samples, labels ±1 and the gamma of the kernel."""
        X, digit = load_digits(return_X_y=True)
        X, X_test, y, y_test = train_test_split(
            X / 16, np.where(digit % 2, 1, -1), test_size=0.5, random_state=0
        )
        return {"X": X, "y": y, "X_test": X_test, "y_test": y_test, "gamma": 1 / (X.shape[1] * X.var())}
