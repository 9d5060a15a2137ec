"""The path of solutions: at every λ_t the SVM itself, to a duality gap that is told."""
