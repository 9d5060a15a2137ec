"""The methods that the paper compares with, one a file."""
