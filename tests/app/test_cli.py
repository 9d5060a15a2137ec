"""The command line, in process and as a program."""

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import marginpath as mp
from marginpath.app import cli, demo

PROGRAM = Path(sys.executable).with_name("marginpath")


@pytest.fixture(scope="module")
def result():
    return demo.compute()


@pytest.fixture
def invoke(result, monkeypatch):
    """Run a command in process; the demo's numbers are computed once for all tests."""
    monkeypatch.setattr(demo, "compute", lambda: result)

    def invoke(*arguments):
        return CliRunner().invoke(cli.build_app(), [str(a) for a in arguments])

    return invoke


@pytest.fixture
def without(monkeypatch):
    """Make the import of some packages fail as if they were not installed."""

    def hide(*packages):
        for name in [n for n in sys.modules if n.partition(".")[0] in packages]:
            monkeypatch.delitem(sys.modules, name)
        for package in packages:
            monkeypatch.setitem(sys.modules, package, None)

    return hide


def png_size(file):
    header = file.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", header[16:24])


def test_without_the_laboratory_its_commands_say_how_to_install_it(monkeypatch):
    monkeypatch.setattr(cli, "entry_points", lambda group: [])
    for words in (["bench", "kernel", "--quick"], ["reproduce", "all"], ["bench"]):
        ran = CliRunner().invoke(cli.build_app(), words)
        assert ran.exit_code == 1
        assert "pip install marginpath-lab" in ran.output


def test_demo_prints_the_path_and_draws_it(invoke, tmp_path):
    ran = invoke("demo", "--out", tmp_path / "new" / "folder")
    assert ran.exit_code == 0, ran.output
    picture = tmp_path / "new" / "folder" / "path.png"
    width, height = png_size(picture)
    assert 1000 < width < 3000
    assert 400 < height < 1500
    assert 20_000 < picture.stat().st_size < 150_000
    for words in ("C = 1/λ", "held-out", "support", "Best step", "Certified", "path.png"):
        assert words in ran.stdout
    assert 10 <= sum(line.startswith("│") for line in ran.stdout.splitlines()) <= 15


def test_the_numbers_of_the_demo(result):
    assert result.train_error[0] == 1  # w = 0 decides nothing
    assert result.train_error[-1] == 0
    assert 10 < result.best < result.last / 2
    assert 3 * result.held_out_error[result.best] < min(result.held_out_error[[1, -1]])
    assert (result.lower <= result.upper).all()
    lower, upper = result.certificate
    assert 0 < lower <= upper < 1.02 * lower
    assert (np.diff(result.C) > 0).all()


@pytest.mark.heavy
def test_demo_as_a_program(tmp_path):
    ran = subprocess.run(
        [PROGRAM, "demo", "--out", tmp_path], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "Best step" in ran.stdout
    assert png_size(tmp_path / "path.png")[0] > 1000


def test_version(invoke):
    ran = invoke("--version")
    assert ran.exit_code == 0
    assert ran.stdout.strip() == f"marginpath {mp.__version__}"


def test_help_names_the_commands(invoke):
    assert "demo" in invoke("--help").stdout


@pytest.mark.parametrize("arguments", [("nonsense",), ("demo", "--nonsense")])
def test_what_is_unknown_is_refused(invoke, arguments):
    assert invoke(*arguments).exit_code == 2


def test_out_must_not_be_a_file(invoke, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    assert invoke("demo", "--out", file).exit_code == 2
    assert file.read_text() == "mine"


def test_out_that_cannot_be_made(invoke, tmp_path):
    (tmp_path / "file").touch()
    ran = invoke("demo", "--out", tmp_path / "file" / "folder")
    assert ran.exit_code == 1
    assert "No picture" in ran.stderr
    assert "Best step" in ran.stdout


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_the_extra_cli(without, capsys, package):
    without(package)
    with pytest.raises(SystemExit) as exit:
        cli.main()
    assert exit.value.code == 1
    message = capsys.readouterr().err
    assert message == f'Commands need {package}, which is not installed: pip install "marginpath[cli]".\n'


def test_without_the_extra_plot(invoke, without, tmp_path):
    without("matplotlib")
    ran = invoke("demo", "--out", tmp_path / "pictures")
    assert ran.exit_code == 1
    assert 'pip install "marginpath[plot]"' in ran.stderr
    assert "Best step" in ran.stdout
    assert not (tmp_path / "pictures").exists()
