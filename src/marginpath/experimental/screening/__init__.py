"""Exact screening of the iterates of Algorithms 1 and 2."""
