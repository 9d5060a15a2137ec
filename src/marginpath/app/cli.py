"""The command line: parses and delegates."""

import io
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Annotated

from ..extras import require

if TYPE_CHECKING:
    import typer
    from rich.console import Console


_ANY = {"allow_extra_args": True, "ignore_unknown_options": True}

_EPILOG = """Start with: marginpath demo, or marginpath report DATA --target COLUMN

Exit codes: 0 done, 1 a file or a package fails, 2 the command is wrong, 3 the data need a change,
130 interrupted."""


def main() -> None:
    """Run the command line; without its extra, say which one to install."""
    _write_what_can_be_written()
    try:
        for package in ("typer", "rich"):
            require(package, extra="cli", what="Commands")
    except ImportError as error:
        print(error, file=sys.stderr)
        raise SystemExit(1) from None
    build_app()()


def _write_what_can_be_written() -> None:
    """Let a question mark stand for what the encoding lacks: a pipe on Windows has no λ."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def build_app() -> "typer.Typer":
    """Return the application and its commands."""
    import typer
    from rich.console import Console

    from .. import __version__
    from .commands import demo, fit, inspect, predict, report

    app = typer.Typer(
        name="marginpath",
        add_completion=False,
        no_args_is_help=True,
        epilog=_EPILOG,
        pretty_exceptions_enable=False,
    )
    console, errors = Console(highlight=False), Console(stderr=True, highlight=False)

    def show_version(asked: bool) -> None:
        if asked:
            console.print(f"marginpath {__version__}")
            raise typer.Exit

    @app.callback()
    def common(
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=show_version, is_eager=True, help="Print the version and exit."
            ),
        ] = False,
    ) -> None:
        """Large-margin classification: one run, the whole path from under-fit to maximum margin."""

    app.command()(demo.demo)
    for command, epilog in (
        (fit.fit, fit.EPILOG),
        (predict.predict, predict.EPILOG),
        (inspect.inspect, inspect.EPILOG),
        (report.report, report.EPILOG),
    ):
        app.command(epilog=epilog)(command)
    _add_laboratory(app, console, errors)
    return app


def _add_laboratory(app: "typer.Typer", console: "Console", errors: "Console") -> None:
    """Add the commands of the laboratory where it is installed, else a word on how to install it."""
    known = {point.name: point for point in entry_points(group="marginpath.commands")}
    for name in ("bench", "reproduce"):
        if name in known:
            known[name].load()(app, console, errors)
        else:
            app.command(name, hidden=True, context_settings=_ANY)(lambda: _say_how_to_install(errors))


def _say_how_to_install(errors: "Console") -> None:
    import typer

    errors.print(
        "Benchmarks and reproductions are a package of their own: pip install marginpath-lab, or "
        "pip install ./lab in a checkout.",
        markup=False,
        soft_wrap=True,
    )
    raise typer.Exit(1)
