"""Build what would be published, and try it where nothing else is installed.

    python packaging/check.py --out dist           # sdist, wheel, twine, every extra in an empty environment
    python packaging/check.py --only plot onnx     # some of the extras
    python packaging/check.py --torch              # torch too: two gigabytes

Needs `build`, `twine` and `uv`, which the extra `dev` has. Prints a line a check, exits with 1 if one fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = "Scripts" if sys.platform == "win32" else "bin"
UV = (sys.executable, "-m", "uv")  # that of this environment, which need not be on the path

FIT = """
import pathlib, sys, marginpath as mp
from sklearn.datasets import load_iris
assert pathlib.Path(mp.__file__).is_relative_to(sys.prefix), mp.__file__
X, y = load_iris(return_X_y=True)
clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
assert clf.score(X, y) > 0.9
"""

#: What each extra is for, as a program that needs nothing but the library and that extra.
CALLS = {
    "": FIT,
    "plot": FIT + "import matplotlib; matplotlib.use('agg'); mp.PathDisplay.from_estimator(clf)",
    "cli": "import subprocess, sys, pathlib\n"
    "command = next(pathlib.Path(sys.executable).parent.glob('marginpath*'))\n"
    "assert 'marginpath 0' in subprocess.run([command, '--version'], capture_output=True, text=True).stdout",
    "frame": "import pandas as pd\nfrom marginpath.app.modelfile import Model\n"
    "from marginpath.app.tables import Table\nimport numpy as np\n"
    "X = pd.DataFrame({'ears': np.arange(40.0), 'colour': ['red', 'grey'] * 20})\n"
    "X.to_parquet('pets.parquet')\n"
    "table = Table('pets', pd.read_parquet('pets.parquet'), np.repeat(['cat', 'rabbit'], 20), 'kind')\n"
    "import marginpath as mp\nModel.fit(table, mp.MarginPathClassifier(cv=2, random_state=0))",
    "data": "import marginpath.datasets.downloads as downloads, pooch, tqdm\n"
    "try:\n    downloads.find_file('a9a/a9a')\n"
    "except FileNotFoundError as missing:\n    assert 'The web' in str(missing)  # tried, and not reached",
    "demo": "import subprocess, sys, pathlib\n"
    "command = next(pathlib.Path(sys.executable).parent.glob('marginpath*'))\n"
    "subprocess.run([command, 'demo', '--out', 'demo'], check=True, capture_output=True)\n"
    "assert sorted(p.name for p in pathlib.Path('demo').iterdir()) == ['path.png', 'report.html']",
    "onnx": FIT + "import numpy as np, onnxruntime\nfrom marginpath.export.onnx import to_onnx\n"
    "graph = to_onnx(clf, X.astype(np.float32))\n"
    "session = onnxruntime.InferenceSession(graph.SerializeToString())\n"
    "label, _ = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})\n"
    "assert np.mean(label == clf.predict(X)) > 0.99",
    "skops": FIT + "import skops.io as sio\nfrom marginpath.export.skops import SKOPS_TRUSTED\n"
    "again = sio.loads(sio.dumps(clf), trusted=SKOPS_TRUSTED)\n"
    "assert (again.predict(X) == clf.predict(X)).all()",
    "dask": FIT + "import dask.array as da\n"
    "assert (clf.predict(da.from_array(X, chunks=(50, 4))).compute() == clf.predict(X)).all()",
    "torch": FIT + "import torch\nmp.Gram.from_kernel(torch.asarray(X), mp.Gaussian(sigma=1.0))",
}

#: Extras that are not tried alone: lists for development.
LISTS = {"docs", "dev"}


def main() -> int:
    """Run the checks that were asked for."""
    options = _options()
    folder = (options.out or Path(tempfile.mkdtemp())).resolve()
    extras = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    )
    if missing := extras - LISTS - CALLS.keys():
        print(f"No program tries the extra(s) {', '.join(sorted(missing))}: add one to CALLS.")
        return 1
    names = options.only or [name for name in CALLS if name != "torch" or options.torch]
    checks: list[tuple[str, Callable[[], str]]] = [("build", lambda: build(folder))]
    checks += [("twine check --strict", lambda: twine(folder))]
    checks += [
        (f"install marginpath{f'[{name}]' if name else ''} and call", lambda name=name: alone(folder, name))
        for name in names
    ]
    return max(_report(what, check) for what, check in checks)


def build(folder: Path) -> str:
    """Build sdist and wheel into an empty folder, and look into them."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]:
        old.unlink()
    _run(sys.executable, "-m", "build", "--installer", "uv", "--outdir", folder, ROOT)
    wheel, sdist = _one(folder, "*.whl"), _one(folder, "*.tar.gz")
    with zipfile.ZipFile(wheel) as packed:
        inside = packed.namelist()
    if strangers := {name.split("/")[0] for name in inside if not name.startswith("marginpath")}:
        raise RuntimeError(f"The wheel also has {strangers}.")
    if "marginpath/py.typed" not in inside:
        raise RuntimeError("The wheel lacks py.typed.")
    with tarfile.open(sdist) as packed:
        files = len(packed.getnames())
    return f"{wheel.name} ({wheel.stat().st_size / 1e3:.0f} kB), {sdist.name} ({files} files)"


def twine(folder: Path) -> str:
    """Let twine judge the metadata and the README."""
    _run(sys.executable, "-m", "twine", "check", "--strict", _one(folder, "*.whl"), _one(folder, "*.tar.gz"))
    return "passed"


def alone(folder: Path, extra: str) -> str:
    """Install the wheel with one extra into a new environment, and run the program of that extra."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        python = Path(place, "environment", SCRIPTS, "python")
        wheel = f"{_one(folder, '*.whl')}{f'[{extra}]' if extra else ''}"
        _run(*UV, "venv", "--quiet", "--python", sys.executable, python.parents[1])
        start = time.perf_counter()
        _run(*UV, "pip", "install", "--quiet", "--compile-bytecode", "--python", python, wheel)
        installed = time.perf_counter() - start
        _run(python, "-c", CALLS[extra], cwd=place)
        seconds = _run(python, "-c", "import time; t = time.perf_counter(); import marginpath; "
                       "print(f'{time.perf_counter() - t:.2f}')", cwd=place)  # fmt: skip
    return f"installed in {installed:.0f} s, imports in {seconds.strip()} s"


def _report(what: str, check: Callable[[], str]) -> int:
    try:
        print(f"ok      {what}: {check()}", flush=True)
    except (RuntimeError, OSError) as failure:
        print(f"FAILED  {what}: {failure}", flush=True)
        return 1
    return 0


def _run(*command: object, cwd: str | None = None) -> str:
    words = [str(word) for word in command]
    ran = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"{' '.join(words[:6])} … exited with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def _one(folder: Path, pattern: str) -> Path:
    matches = list(folder.glob(pattern))
    if len(matches) != 1:
        raise RuntimeError(f"{folder} has {len(matches)} files {pattern}, and one is needed.")
    return matches[0]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="folder for sdist and wheel; a temporary one by default")
    parser.add_argument("--only", nargs="*", choices=CALLS, metavar="EXTRA", help="the extras to try")
    parser.add_argument("--torch", action="store_true", help="try torch too, which is large")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
