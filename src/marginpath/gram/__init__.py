"""Gram matrices: all that a solver sees of the data, one storage a file."""

from .base import Enclosure, Gram
from .choose import with_gram
from .dense import DenseGram
from .device import DeviceTiledGram
from .linear import LinearGram
from .tiled import TiledGram

__all__ = [
    "DenseGram",
    "DeviceTiledGram",
    "Enclosure",
    "Gram",
    "LinearGram",
    "TiledGram",
    "with_gram",
]
