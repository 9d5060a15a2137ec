"""The laboratory of marginpath: its benchmarks, and the reproduction of the paper's tables and figures."""
