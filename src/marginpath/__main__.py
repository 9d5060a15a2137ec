"""``python -m marginpath``: the command line where scripts are not on the path, as often on Windows."""

from .app.cli import main

if __name__ == "__main__":
    main()
