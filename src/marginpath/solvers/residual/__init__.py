"""Coordinate sweeps for regression: the solutions along λ, in a two-sided box."""
