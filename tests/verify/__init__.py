"""A second opinion on certificates: exact rational arithmetic that shares no code with the package."""
