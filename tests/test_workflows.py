"""The workflows for a public forge: GitHub's schema takes them, and they test the declared versions."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def check(*files):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    return subprocess.run([*command, *files], capture_output=True, text=True, check=False)


def test_the_schema_takes_the_workflows():
    assert [file.stem for file in WORKFLOWS] == ["nightly", "release", "tests"]
    ran = check(*WORKFLOWS)
    assert ran.returncode == 0, ran.stdout


def test_the_schema_refuses_a_job_without_a_machine(tmp_path):
    (tmp_path / "bad.yml").write_text(
        "on: push\njobs:\n  tests:\n    steps:\n      - run: make\n", encoding="utf-8"
    )
    assert check(tmp_path / "bad.yml").returncode == 1


def test_every_declared_python_is_tested_and_no_other():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = set(re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"])))
    tests = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    assert set(re.findall(r'"(3\.\d+)"', tests)) == declared
