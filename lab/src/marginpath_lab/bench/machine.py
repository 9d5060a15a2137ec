"""What a timing depends on besides the code: processor, cores, versions."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import joblib

import marginpath

#: Whatever takes part in a timing, by the name under which it is installed.
PACKAGES = (
    "marginpath", "numpy", "scipy", "numba", "scikit-learn", "joblib", "threadpoolctl",
    "scikit-learn-intelex", "liquidSVM", "rehline", "lightgbm", "torchkm", "torch",
)  # fmt: skip


def describe_machine() -> dict[str, str | int]:
    """Return the processor, its cores, the system, the time of day, and the commit of the code."""
    return {
        "processor": processor(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
    }


def commit(folder: Path = Path(marginpath.__file__).parent) -> str:
    """Return the commit of the package, "-dirty" where files were changed; "" where it is no checkout."""
    git = ("git", "-C", str(folder))
    try:
        # An installed package may lie inside of a checkout of something else.
        subprocess.run([*git, "ls-files", "--error-unmatch", "__init__.py"], check=True, capture_output=True)
        described = subprocess.run(
            [*git, "describe", "--always", "--dirty", "--exclude=*"],
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return described.stdout.strip()


def cores() -> int:
    """Return how many cores this process may use; all contestants use as many."""
    return int(joblib.cpu_count())


def require_one_core() -> None:
    """Refuse more: a search then has workers, whose time is not that of this process."""
    if (number := cores()) > 1:
        raise ValueError(
            f"Processor time is measured in one process on one core, and there are {number}. Run it on one: "
            f"taskset -c 0 marginpath bench …, or with LOKY_MAX_CPU_COUNT=1."
        )


def processor(listing: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the processor."""
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Return the versions of the packages that are installed.

    Examples
    --------
    >>> sorted(versions())[0]
    'joblib'
    """
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
