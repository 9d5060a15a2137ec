"""Cross-validation along a path: folds as columns, their scores, the step and the width that they choose."""
