"""What is not installed: one way to ask for an optional package, one message where it is missing."""

from importlib import import_module
from typing import Any

__all__ = ["require"]


def require(name: str, *, extra: str, what: str, otherwise: str = "", of: str = "marginpath") -> Any:
    """Return an optional module, or say what needs it and which extra brings it.

    Parameters
    ----------
    name : str
        The module, such as "matplotlib.figure".
    extra : str
        The extra that installs it.
    what : str
        What needs it, in the plural: the message begins with it.
    otherwise : str
        A sentence on how to do without.
    of : str
        The distribution that has the extra.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        Where the module, or another one that it imports, is not installed or does not load.

    Examples
    --------
    >>> require("abacus.beads", extra="count", what="Sums")
    Traceback (most recent call last):
        ...
    ImportError: Sums need abacus, which is not installed: pip install "marginpath[count]".
    """
    try:
        return import_module(name)
    except ImportError as missing:
        absent = isinstance(missing, ModuleNotFoundError)
        package = ((missing.name if absent else None) or name).partition(".")[0]
        state = "is not installed" if absent else f"does not load ({missing})"
        message = f'{what} need {package}, which {state}: pip install "{of}[{extra}]". {otherwise}'
        raise ImportError(message.rstrip(), name=package) from missing
