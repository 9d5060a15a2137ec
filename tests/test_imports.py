"""What `import marginpath` leaves alone: modules that only some calls need are imported by those calls."""

import subprocess
import sys

import pytest

# scikit-learn's base classes are needed at once, and bring scipy with them. What is listed here is not.
LATE = [
    "sklearn.datasets", "sklearn.feature_extraction", "sklearn.metrics", "sklearn.model_selection",
    "sklearn.pipeline", "sklearn.preprocessing", "scipy.io", "urllib.request",
    "numba", "matplotlib", "pooch", "tqdm", "typer", "pyarrow.parquet",
    "dask", "distributed", "torch", "onnx", "skl2onnx", "skops",
]  # fmt: skip


@pytest.fixture(scope="module")
def imported():
    """Return the modules of a new process that has imported marginpath's classifier and nothing else."""
    # pandas, where installed, is imported by scikit-learn itself and brings modules of its own.
    program = (
        "import sys; sys.modules['pandas'] = None; import marginpath; marginpath.MarginPathClassifier; "
        "print(*sys.modules, sep='\\n')"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize("module", LATE)
def test_the_package_imports_it_late(imported, module):
    assert "marginpath.estimators.kernel" in imported
    assert module not in imported
