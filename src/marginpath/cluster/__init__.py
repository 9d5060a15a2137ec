"""The same path past one machine: Gram matrices, sweeps and predictions on a Dask cluster.

The cluster keeps the data, the solver its n × k state. Everything here but `is_dask` needs the extra
``dask``: pip install "marginpath[dask]".
"""

from .estimating import (
    adapted,
    lazy_kernel_product,
    lazy_labels,
    lazy_probabilities,
    lazy_product,
    loaded,
    new_rows,
)
from .faults import Checkpoint, SchedulerLost
from .grams import ClusterLinearGram, from_dask, gram_of
from .kernel_gram import ClusterKernelGram
from .loading import collected, is_dask, load_rows
from .mapping import fit_on_sample, map_rows
from .rows import Rows
from .sweeps import ClusterSweeps

__all__ = [
    "Checkpoint",
    "ClusterKernelGram",
    "ClusterLinearGram",
    "ClusterSweeps",
    "Rows",
    "SchedulerLost",
    "adapted",
    "collected",
    "fit_on_sample",
    "from_dask",
    "gram_of",
    "is_dask",
    "lazy_kernel_product",
    "lazy_labels",
    "lazy_probabilities",
    "lazy_product",
    "load_rows",
    "loaded",
    "map_rows",
    "new_rows",
]
