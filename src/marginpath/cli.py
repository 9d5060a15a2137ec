"""The command line: parses and delegates."""


def main() -> None:
    """Run the command line."""
    raise SystemExit("marginpath: no command yet.")
