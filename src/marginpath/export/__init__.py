"""Fitted classifiers for other programs: ONNX, and skops."""
