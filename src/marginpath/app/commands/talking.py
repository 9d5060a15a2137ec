"""What the commands say: results to stdout, the rest to stderr; one sentence for what went wrong."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from ..tables.reading import NotThere, Unusable
from . import FAILED, INTERRUPTED, WRONG_COMMAND, WRONG_DATA


def console() -> Console:
    """Return where results go; a file or a pipe has room for all columns."""
    out = Console(highlight=False)
    if not out.is_terminal:
        out.width = 120
    return out


def tell(line: str) -> None:
    """Say something beside the result."""
    Console(stderr=True, highlight=False).print(line, markup=False, soft_wrap=True)


def say(line: str) -> None:
    """Say a result as it is; in a file or a pipe it is UTF-8, as in every file that is written."""
    typer.echo(line if sys.stdout.isatty() else f"{line}\n".encode(), nl=sys.stdout.isatty())


@contextmanager
def told_plainly() -> Iterator[None]:
    """Turn what can go wrong into one sentence and an exit code."""
    try:
        yield
    except NotThere as error:
        _end(str(error), WRONG_COMMAND)
    except Unusable as error:
        _end(str(error), WRONG_DATA)
    except (ImportError, OSError) as error:
        _end(_sentence(error), FAILED)
    except MemoryError:
        _end("There is not enough memory for this. Take fewer rows, or --kernel linear.", FAILED)
    except ValueError as error:
        _end(str(error), WRONG_COMMAND)
    except KeyboardInterrupt:
        _end("Interrupted; nothing was written.", INTERRUPTED)


@contextmanager
def remarked() -> Iterator[list[str]]:
    """Collect what the estimators warn of, and say it at the end."""
    from sklearn.exceptions import ConvergenceWarning

    remarks: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ConvergenceWarning)
        yield remarks
    remarks += [str(warning.message) for warning in caught]
    for remark in remarks:
        tell(f"Note: {remark}")


def readable(*files: Path | None) -> None:
    """Refuse files that are not there, before anything heavy is loaded."""
    for file in files:
        if file is not None and not file.exists():
            raise FileNotFoundError(f"There is no file {file}.")


def writable(file: Path) -> Path:
    """Return the file if its folder is there; a fit should not end in vain."""
    if file.is_dir():
        raise NotThere(f"{file} is a folder; -o needs the name of a file.")
    if not file.parent.is_dir():
        raise NotThere(f"There is no folder {file.parent}. Make it, or choose another name for -o.")
    return file


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def _end(sentence: str, code: int) -> None:
    tell(sentence)
    raise typer.Exit(code) from None
