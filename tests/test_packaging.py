"""A wheel that works where nothing but its own dependencies is installed, and what other files say of it."""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import marginpath as mp

ROOT = Path(__file__).parents[1]

SMOKE = """
import pathlib, sys, numpy as np, marginpath as mp
assert pathlib.Path(mp.__file__).is_relative_to(sys.prefix), mp.__file__
data = mp.datasets.toy()
problem = mp.Problem(mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=1.0)), data.y)
path = mp.run(mp.DualDescent(mp.PowerDecay(10.0), mp.Inertia(3)), problem, steps=500, observe=["margin"])
lower, upper = mp.margin_bounds(problem, path.last.u)
assert 0 < lower <= upper < 1.01 * lower, (lower, upper)
print(mp.__version__)
"""


def call(*command, cwd):
    ran = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=600, check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("packaging/conda-forge/recipe.yaml", r'^  version: "(\S+)"$'),
    ],
)
def test_files_that_repeat_the_version_have_it(file, pattern):
    assert re.findall(pattern, (ROOT / file).read_text("utf-8"), re.MULTILINE) == [mp.__version__]


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for(project):
    recipe = (ROOT / "packaging/conda-forge/recipe.yaml").read_text("utf-8")
    listed = re.search(r"^  run:\n(.*?)^  run_constraints:", recipe, re.MULTILINE | re.DOTALL)[1]
    needed = {line.strip().removeprefix("- ").replace(" ", "") for line in listed.splitlines()}
    assert needed == {*project["dependencies"], "python>=${{python_min}}"}
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"' in recipe


def test_every_extra_is_tried_alone_by_a_program(project):
    check = runpy.run_path(str(ROOT / "packaging" / "check.py"))
    assert check["CALLS"].keys() - {""} == project["optional-dependencies"].keys() - check["LISTS"]


def test_the_declared_versions_of_python_have_no_gap(project):
    declared = [int(minor) for minor in re.findall(r"Python :: 3\.(\d+)", "\n".join(project["classifiers"]))]
    assert declared == list(range(declared[0], declared[-1] + 1))
    assert project["requires-python"] == f">=3.{declared[0]}"
    assert sys.version_info[1] in declared


@pytest.mark.heavy
def test_the_wheel_installs_and_runs(tmp_path):
    code, _, errors = call(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT, cwd=tmp_path)
    assert code == 0, errors
    (wheel,) = tmp_path.glob("*.whl")

    environment = tmp_path / "environment"
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    python = scripts / "python"
    assert call(sys.executable, "-m", "venv", environment, cwd=tmp_path)[0] == 0
    code, _, errors = call(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    assert code == 0, errors

    code, printed, errors = call(python, "-W", "error", "-c", SMOKE, cwd=tmp_path)
    assert code == 0, errors
    assert printed.strip() == mp.__version__
    assert list(scripts.glob("marginpath*"))

    typed = call(
        python, "-c", "import marginpath, os; print(os.listdir(marginpath.__path__[0]))", cwd=tmp_path
    )
    assert "py.typed" in typed[1]
    code, _, errors = call(scripts / "marginpath", "demo", cwd=tmp_path)
    assert code == 1
    assert 'pip install "marginpath[cli]"' in errors


def test_names_and_modules_are_loaded_when_they_are_asked_for():
    script = (
        "import sys, marginpath as mp\n"
        "assert 'sklearn' not in sys.modules\n"
        "assert mp.gram.DenseGram and mp.estimators.watched and mp.TablePathClassifier\n"
        "assert all(hasattr(mp, name) for name in mp.__all__)\n"
        "assert not hasattr(mp, 'nonsense')"
    )
    code, _, errors = call(sys.executable, "-c", script, cwd=ROOT)
    assert code == 0, errors
