"""Coordinate descent along a path: the sweeps, and where they keep their fields."""
