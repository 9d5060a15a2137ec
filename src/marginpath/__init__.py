"""Large-margin classification by iterative regularization.

One run travels from a heavily regularized classifier to the maximum-margin one; the number of steps is
the regularization.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import lazy_loader

__version__ = "0.1.0"

# The public names and where they live are in __init__.pyi; each is loaded when first asked for, so that a
# command can refuse a wrong option before the solvers are there.
_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Return a public name, or a module such as ``marginpath.gram``."""
    if name not in __all__ and not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    return _public(name)
