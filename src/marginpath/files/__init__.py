"""Files that cannot run code when loaded: what they may hold, and how it is written and read."""
