"""Gram matrices whose data are on a Dask cluster: the cluster keeps the data, the solver its n × k state.

Everything here but `is_dask` needs the extra ``dask``: pip install "marginpath[dask]".
"""

from .faults import SchedulerLost
from .kernel import ClusterKernelGram
from .landmarks import ClusterLandmarkGram
from .linear import ClusterLinearGram, from_dask, gram_of
from .loading import collected, is_dask, load_rows
from .mapping import fit_on_sample, map_rows
from .rows import Rows

__all__ = [
    "ClusterKernelGram",
    "ClusterLandmarkGram",
    "ClusterLinearGram",
    "Rows",
    "SchedulerLost",
    "collected",
    "fit_on_sample",
    "from_dask",
    "gram_of",
    "is_dask",
    "load_rows",
    "map_rows",
]
