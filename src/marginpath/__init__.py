"""Large-margin classification by iterative regularization.

One run travels from a heavily regularized classifier to the maximum-margin one; the number of steps is
the regularization.
"""

import lazy_loader

# The names and where they live are in __init__.pyi; each is loaded when first asked for, so that a command
# can refuse a wrong option before the solvers are there.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0.dev0"
