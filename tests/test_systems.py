"""What other systems lack is not needed: a fit, files and the command line without what only Unix has.

A child process takes away the modules, functions and files that Windows and macOS do not have, after the
packages below us have been imported, and lets every text file that is opened without an encoding be an error.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OF_UNIX = ("resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "posix")

#: An ARM processor has no products of bytes; other ways to a kernel value differ in its last digits.
ON_ARM = """
import marginpath.kernels.whole_numbers_compiled as bytes_of_x86
bytes_of_x86.available = lambda: False
"""

WITHOUT_UNIX = (
    f"OF_UNIX = {OF_UNIX}"
    + """
import sys, os, pathlib, signal, warnings
import joblib, numba, pandas, psutil, rich.console, rich.table, sklearn.compose, sklearn.datasets
import sklearn.decomposition, sklearn.feature_selection, sklearn.impute, sklearn.metrics
import sklearn.model_selection, threadpoolctl, typer, scipy.stats, scipy.optimize

for module in OF_UNIX:
    sys.modules[module] = None  # an import raises ImportError
for name in ("register_at_fork", "fork", "sched_getaffinity", "sched_setaffinity", "sysconf", "getloadavg",
             "uname", "geteuid", "getuid", "mkfifo", "killpg", "pread", "posix_fadvise"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGALRM", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGHUP", "setitimer", "alarm", "pthread_sigmask"):
    if hasattr(signal, name):
        delattr(signal, name)

reads = pathlib.Path.read_text
def read_text(path, *args, **options):
    if path.parts[1:2] in (("proc",), ("sys",)):
        raise FileNotFoundError(2, "no such file on this system", str(path))
    return reads(path, *args, **options)
pathlib.Path.read_text = read_text

warnings.filterwarnings("error", category=EncodingWarning, module=r"marginpath\\.")
"""
    + ON_ARM
)

ROWS = """
import numpy as np, marginpath as mp
rng = np.random.default_rng(0)
X = rng.integers(0, 9, size=(300, 40)).astype(float)
y = (X[:, 0] + X[:, 1] > 8).astype(int)
"""

SAVE = (
    ROWS
    + """
problem = mp.Problem(mp.Gram.linear(X), 2 * y - 1)
path = mp.run(mp.DualDescent(mp.PowerDecay(1.0)), problem, steps=5)
path.save("a path.npz")
path.save("a path.npz")  # over the old one
assert mp.resume(mp.Path.load("a path.npz"), problem, steps=2).last.t == 7
"""
)

FIT = (
    SAVE
    + """
clf = mp.MarginPathClassifier(cv=3, random_state=0).fit(X, y)
print(clf.step_, clf.predict(X).sum())
mp.LinearMarginPathClassifier(cv=3, random_state=0).fit(X, y)
"""
)

COMMANDS = """
from marginpath.app.cli import main
for line in ("fit tiere.csv --target Art -o tiere.model", "predict tiere.model tiere.csv -o out.csv",
             "inspect tiere.model", "report tiere.model tiere.csv -o report.html"):
    sys.argv = ["marginpath", *line.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
"""


CLOSED = """
import os, psutil
replaces = os.replace
def replace(source, target, **options):
    taken = {file.path for file in psutil.Process().open_files()}
    for file in (source, target):
        if os.path.realpath(file) in taken:
            raise PermissionError(13, "The file is used by a process", str(file))
    return replaces(source, target, **options)
os.replace = replace
"""

SPAWNED = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import numpy as np, marginpath as mp

if __name__ == "__main__":
    X = np.random.default_rng(0).standard_normal((60, 3))
    clf = mp.MarginPathClassifier(cv=2, random_state=0).fit(X, X[:, 0] > 0)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        fitted = pool.submit(mp.MarginPathClassifier(cv=2, random_state=0).fit, X, X[:, 0] > 0).result()
        predicted = pool.submit(clf.predict, X).result()
    assert fitted.step_ == clf.step_
    assert (predicted == clf.predict(X)).all()
"""


def python(program, folder, **environment):
    return subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-c", program],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize("folder", ["src", "lab", "tests", "examples", "packaging"])
def test_no_file_imports_at_once_what_only_unix_has(folder):
    for file in (ROOT / folder).rglob("*.py"):
        statements = ast.parse(file.read_text(encoding="utf-8")).body
        names = [alias.name for s in statements if isinstance(s, ast.Import) for alias in s.names]
        names += [s.module or "" for s in statements if isinstance(s, ast.ImportFrom)]
        assert not set(names) & set(OF_UNIX), file


def test_a_fit_needs_nothing_of_unix(tmp_path):
    ran = python(WITHOUT_UNIX + FIT, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == python(ON_ARM + FIT, tmp_path).stdout


def test_no_file_is_replaced_while_it_is_open(tmp_path):
    program = CLOSED + SAVE + "mp.Path.load('a path.npz').save('a path.npz')"  # read, then written over
    ran = python(program, tmp_path)
    assert ran.returncode == 0, ran.stderr
    refused = python(CLOSED + "kept = open('a path.npz')\n" + SAVE, tmp_path)
    assert "PermissionError" in refused.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["a path.npz"]  # and nothing half written is left


@pytest.mark.heavy
def test_a_process_that_was_not_forked_fits_and_predicts(tmp_path):
    (tmp_path / "spawned.py").write_text(SPAWNED, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "spawned.py"], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.heavy
def test_the_command_line_needs_nothing_of_unix(tmp_path):
    rows = "\n".join(
        f"{i % 7},{'rot' if i % 2 else 'grün'},{'Bär' if i % 7 > 3 else 'Hase'}" for i in range(60)
    )
    (tmp_path / "tiere.csv").write_text(f"Größe,Farbe,Art\n{rows}\n", encoding="utf-8")
    ran = python(WITHOUT_UNIX + COMMANDS, tmp_path, PYTHONIOENCODING="utf-8")
    assert ran.returncode == 0, ran.stderr
    assert "Bär" in (tmp_path / "out.csv").read_text("utf-8")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_results_in_a_pipe_keep_every_letter(tmp_path, encoding):
    program = "from marginpath.app.commands.talking import say\nsay('Bär, λ')"
    ran = python(program, tmp_path, PYTHONIOENCODING=encoding)
    assert (ran.returncode, ran.stdout) == (0, "Bär, λ\n"), ran.stderr


def test_the_package_is_a_program(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "marginpath", "--version"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (ran.returncode, ran.stdout.split()[0]) == (0, "marginpath"), ran.stderr


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_an_encoding_without_greek_gets_a_question_mark(tmp_path, encoding):
    program = "import marginpath.app.cli as cli\ncli.build_app = lambda: lambda: print('C = 1/λ')\ncli.main()"
    ran = python(program, tmp_path, PYTHONIOENCODING=encoding)
    assert (ran.returncode, ran.stdout) == (0, "C = 1/?\n"), ran.stderr
