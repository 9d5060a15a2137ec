"""What a dual vector proves of the maximum margin, and the maximum margin itself."""
