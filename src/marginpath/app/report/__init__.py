"""The interactive page: one file that shows a path step by step, and asks for no network."""

from .page import render, write

__all__ = ["render", "write"]
