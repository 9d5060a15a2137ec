"""The command line: parses and delegates."""

import sys
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer
    from rich.console import Console


_EPILOG = """Start with: marginpath demo, or marginpath report DATA --target COLUMN

Exit codes: 0 done, 1 a file or a package fails, 2 the command is wrong, 3 the data need a change,
130 interrupted."""


def main() -> None:
    """Run the command line; without its extra, say which one to install."""
    try:
        app = build_app()
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print('The command line needs typer and rich: pip install "marginpath[cli]"', file=sys.stderr)
        raise SystemExit(1) from None
    app()


def build_app() -> "typer.Typer":
    """Return the application and its commands."""
    import typer
    from rich.console import Console

    from .. import __version__

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

    @app.command("demo")
    def run_demo(
        out: Annotated[
            Path,
            typer.Option(
                "--out", metavar="DIR", file_okay=False, help="Folder for path.png and report.html."
            ),
        ] = Path("demo"),
    ) -> None:
        """Fit and certify a path on data that ship with scikit-learn; print it, draw it, make a page."""
        from . import demo

        result = demo.compute()
        console.print(demo.table(result))
        console.print(demo.summary(result), markup=False)
        for what, write in (("picture", partial(demo.write, result)), ("page", demo.write_page)):
            try:
                console.print(f"{what.capitalize()}: {write(out)}", markup=False, soft_wrap=True)
            except (ImportError, OSError) as error:
                errors.print(f"No {what}. {error}", markup=False, soft_wrap=True)
                raise typer.Exit(1) from None
        console.print("Open the page in a browser and move its slider.")

    for name in ("fit", "predict", "inspect", "report"):
        _add_command(app, name)
    _add_laboratory(app, console, errors)
    return app


def _add_command(app: "typer.Typer", name: str) -> None:
    """Add the command of that name, which has a module of its own."""
    module = import_module(f"marginpath.app.commands.{name}")
    app.command(name, epilog=module.EPILOG)(getattr(module, name))


def _add_laboratory(app: "typer.Typer", console: "Console", errors: "Console") -> None:
    """Add the commands of the laboratory where it is installed, else a word on how to install it."""
    import typer

    added = {point.name: point.load() for point in entry_points(group="marginpath.commands")}
    for name, what in (("bench", "The benchmarks are"), ("reproduce", "The reproduction of the paper is")):
        if name in added:
            added[name](app, console, errors)
            continue

        def missing(name: str | None = None, what: str = what) -> None:
            message = f"{what} a package of its own: pip install marginpath-lab, or pip install ./lab in a checkout."
            errors.print(message, markup=False, soft_wrap=True)
            raise typer.Exit(1)

        app.command(name, help=f"{what} in marginpath-lab.", hidden=True)(partial(missing, what=what))
