"""A run and what it leaves: the loop, the path, the models along it, the rules that stop it."""
