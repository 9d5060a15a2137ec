"""Data sets: seeded generators of the paper's synthetic sets, and loaders of real ones."""

from .dataset import Dataset
from .generators import gaussian_mixture, toy
from .loaders import load_20newsgroups, load_a9a, load_htru2, load_ijcnn1, load_mnist
from .parquet import MappedRows, read_parquet

__all__ = [
    "Dataset",
    "MappedRows",
    "gaussian_mixture",
    "load_20newsgroups",
    "load_a9a",
    "load_htru2",
    "load_ijcnn1",
    "load_mnist",
    "read_parquet",
    "toy",
]
