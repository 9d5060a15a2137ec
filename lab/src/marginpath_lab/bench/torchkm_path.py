"""TorchKM as a rival: all C and all folds from one eigendecomposition of the kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from marginpath.datasets import Dataset
from marginpath.extras import require

from .peers import C_GRID, gamma, quiet


def torchkm_svc() -> Any:
    """Return TorchKM's SVC."""
    found = require("torchkm", extra="torchkm", of="marginpath-lab", what="Comparisons with TorchKM")
    return found.TorchKMSVC


@dataclass(frozen=True)
class TorchKMPath:
    """TorchKM's own search: the grid of C, 5 folds, on the CPU or a GPU.

    From the smallest C on: from the largest, as its own grid goes, it converges at one C of HTRU2. It
    always computes in float64. Its kernel is exp(−2 s d²), so that s = γ/2. By landmarks, as many as given,
    it takes a width of its own, and no other.
    """

    sigma: float
    device: str = "cpu"
    landmarks: int | None = None

    def __call__(self, data: Dataset) -> Any:
        """Return the fitted classifier, its C chosen."""
        kernel: dict[str, Any] = {"rbf_sigma": gamma(self.sigma) / 2}
        if self.landmarks is not None:
            kernel = {"low_rank": True, "num_landmarks": self.landmarks, "nys_k": self.landmarks}
        with quiet():
            model = torchkm_svc()(
                **kernel,
                Cs=np.array(C_GRID),
                nC=len(C_GRID),
                cv=5,
                device=self.device,
                random_state=0,
            )
            return model.fit(np.asarray(data.X, dtype=np.float64), data.y)

    def judge(self, model: Any, data: Dataset) -> dict[str, float | str]:
        """Return the test error, that of the folds, and the C that was chosen."""
        wrong = model.predict(np.asarray(data.X_test, dtype=np.float64)) != data.y_test
        converged = {} if model.converged_ is None else {"C converged": int(np.sum(model.converged_))}
        return {
            "test error": float(np.mean(wrong)),
            "CV error": float(np.min(model.cv_mis_)),
            "C": float(model.best_C_),
            **converged,
        }
