"""The command line: parses and delegates."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer


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

    from . import __version__

    app = typer.Typer(name="marginpath", add_completion=False, no_args_is_help=True)
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
            typer.Option("--out", metavar="DIR", file_okay=False, help="Folder for the picture path.png."),
        ] = Path("demo"),
    ) -> None:
        """Fit and certify a path on digits that ship with scikit-learn; print it and draw it."""
        from . import demo

        result = demo.compute()
        console.print(demo.table(result))
        console.print(demo.summary(result), markup=False)
        try:
            console.print(f"Picture: {demo.write(result, out)}", markup=False, soft_wrap=True)
        except (ImportError, OSError) as error:
            errors.print(f"No picture. {error}", markup=False, soft_wrap=True)
            raise typer.Exit(1) from None

    return app
