"""The interactive page: one file that shows a path step by step, and asks for no network."""

from .page import render, write
from .quantity import render_quantity, write_quantity

__all__ = ["render", "render_quantity", "write", "write_quantity"]
