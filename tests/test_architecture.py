"""What CONTRIBUTING says of the code: short functions, few looks into another's inside, a true map."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "marginpath"
TREES = {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted(PACKAGE.rglob("*.py"))}
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

#: Methods of named tuples, whose names begin so that they are no fields.
OF_TUPLES = {"_replace", "_asdict", "_fields"}


def everywhere(*kinds):
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                yield f"{file.relative_to(PACKAGE)}:{node.lineno}", node


def length(function):
    """Return the lines of a function, less those of its docstring."""
    first = function.body[0]
    lines = function.end_lineno - function.lineno + 1
    return lines - (first.end_lineno - first.lineno + 1) if ast.get_docstring(function) else lines


def only_stores(function):
    """Whether it is a constructor of scikit-learn's kind: self.name = name, and nothing else."""
    return function.name == "__init__" and all(
        isinstance(line, ast.Assign) and ast.unparse(line.targets) == f"self.{ast.unparse(line.value)}"
        for line in function.body
    )


def test_functions_are_short():
    functions = [(place, f) for place, f in everywhere(ast.FunctionDef) if not only_stores(f)]
    assert [f"{place} {f.name}: {length(f)} lines" for place, f in functions if length(f) > 60] == []


def test_modules_are_short():
    sizes = {file.relative_to(PACKAGE): len(file.read_text(encoding="utf-8").splitlines()) for file in TREES}
    assert {str(file): size for file, size in sizes.items() if size > 400} == {}


def test_signatures_are_narrow():
    """A command takes its options in records; an estimator has as many settings as it has."""
    counts = [
        (place, f.name, len(f.args.posonlyargs + f.args.args + f.args.kwonlyargs))
        for place, f in everywhere(ast.FunctionDef)
        if not only_stores(f)
    ]
    assert [each for each in counts if each[2] > 15] == []


def test_few_ask_for_a_class_of_ours():
    """A method says it better, but for checks of what users give."""
    own = {node.name for _, node in everywhere(ast.ClassDef)}
    asked = [
        f"{place} {ast.unparse(call)}"
        for place, call in everywhere(ast.Call)
        if ast.unparse(call.func) == "isinstance"
        and own & {ast.unparse(name).rpartition(".")[2] for name in ast.walk(call.args[1])}
    ]
    assert len(asked) <= 48, asked


def test_few_read_what_is_private():
    private = [
        f"{place} {ast.unparse(node)}"
        for place, node in everywhere(ast.Attribute)
        if re.match("_[^_]", node.attr)
        and node.attr not in OF_TUPLES
        and ast.unparse(node.value) not in ("self", "cls", "super()")
    ]
    assert len(private) <= 9, private


def walk():
    return PAGE[PAGE.index("What a training sample goes through") : PAGE.index("## Add a schedule")]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+/(?:\w+\.py)?)`", walk()))))
def test_the_walk_names_files_that_exist(name):
    assert (PACKAGE / name).exists()


def test_the_walk_names_functions_that_exist():
    defined = {node.name for _, node in everywhere(ast.FunctionDef, ast.ClassDef)}
    named = {name for words in re.findall(r"`([\w.()]+)`", walk()) for name in re.findall(r"\w+", words)}
    attributes = {"X", "y", "dual_coef_", "support_", "path_", "solver", "MarginPathClassifier"}
    files = {part for file in TREES for part in file.relative_to(PACKAGE).with_suffix("").parts} | {"py"}
    assert named - defined - attributes - files == set()


def test_the_map_has_every_folder():
    rows = PAGE[PAGE.index("| folder or file |") : PAGE.index("A layer imports")]
    mapped = set(re.findall(r"`(?:src/marginpath/)?(\w+)(?:/|\.py)`", rows))
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix in ("", ".py")}
    assert parts - mapped <= {"__init__", "__main__", "__pycache__"}


def test_the_layers_of_the_page_are_those_of_the_contract():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = contract["tool"]["importlinter"]["contracts"][0]["layers"]
    block = re.search(r"```\n app\n.*?```", PAGE, re.S).group().strip("`\n").splitlines()
    assert [set(re.findall(r"\w+", line.partition("   ")[0])) for line in block] == [
        set(re.findall(r"\w+", layer)) for layer in layers
    ]


def test_folders_of_tests_can_be_named_one_by_one():
    """Each may have a conftest.py, which doctests are looked for in: their names must not clash."""
    folders = [str(file) for file in sorted((ROOT / "tests").glob("*/conftest.py"))]
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *folders]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert len(folders) > 1
    assert ran.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, ran.stdout
