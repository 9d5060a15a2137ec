"""Sets of OpenML, downloaded by scikit-learn: classes that overlap, and classes that do not."""

import numpy as np
from benchopt import BaseDataset
from sklearn.datasets import fetch_openml
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler


class Dataset(BaseDataset):
    """The first class against the rest."""

    name = "OpenML"
    parameters = {"set_name": ["phoneme", "spambase"]}
    requirements = ["scikit-learn", "pandas"]

    def get_data(self):
        """Return samples, labels ±1 and the gamma of the kernel."""
        X, label = fetch_openml(self.set_name, version=1, return_X_y=True, as_frame=False)
        y = np.where(label == np.unique(label)[0], 1, -1)
        X, X_test, y, y_test = train_test_split(
            X, y, train_size=min(4000, len(y) // 2), stratify=y, random_state=0
        )
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
        return {"X": X, "y": y, "X_test": X_test, "y_test": y_test, "gamma": 1 / X.shape[1]}
