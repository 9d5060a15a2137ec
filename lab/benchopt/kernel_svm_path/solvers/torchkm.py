"""TorchKM: the path and its folds from one eigendecomposition of the kernel matrix, in torch."""

import numpy as np
import torch
from benchopt import BaseSolver
from sklearn.metrics.pairwise import rbf_kernel
from torchkm.cvksvm import cvksvm


class Solver(BaseSolver):
    """Its SVM, whose λ is 1/(2nC); kernel matrix included, which it is given."""

    name = "TorchKM"
    requirements = ["pip::torchkm", "pip::torch"]
    parameters = {"device": ["cpu", "cuda"]}
    sampling_strategy = "run_once"

    def skip(self, **objective):
        """Skip a GPU that is not there."""
        missing = self.device == "cuda" and not torch.cuda.is_available()
        return missing, "no GPU" if missing else None

    def set_objective(self, X, y, gamma, Cs, folds):
        """Take the problem; folds are numbered from 1, and λ falls."""
        self.X, self.y, self.gamma, self.Cs, self.folds = X, y, gamma, Cs, folds
        self.number = np.zeros(len(y), dtype=np.int64)
        for i, (_, test) in enumerate(folds, start=1):
            self.number[test] = i

    def run(self, _):
        """Fit everything."""
        K = torch.as_tensor(rbf_kernel(self.X, gamma=self.gamma))
        self.model = cvksvm(
            Kmat=K,
            y=torch.as_tensor(self.y, dtype=torch.double),
            nlam=len(self.Cs),
            ulam=torch.as_tensor(1 / (2 * len(self.y) * self.Cs)),
            foldid=torch.as_tensor(self.number),
            nfolds=len(self.folds),
            device=self.device,
        )
        self.model.fit()

    def get_result(self):
        """Return the coefficients; the first row of its matrix has the intercepts."""
        found, out_of_fold = (x.cpu().numpy() for x in (self.model.alpmat, self.model.pred))
        wrong = np.where(out_of_fold > 0, 1, -1) != self.y[:, None]
        errors = np.mean([wrong[test].mean(axis=0) for _, test in self.folds], axis=0)
        return {"coefficients": found[1:], "intercepts": found[0], "cv_errors": errors}
