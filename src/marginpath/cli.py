"""The command line: parses and delegates."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer
    from rich.console import Console

    from .bench.report import Report


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

    _add_bench(app, console, errors)
    _add_reproduce(app, console, errors)
    return app


def _add_bench(app: "typer.Typer", console: "Console", errors: "Console") -> None:
    import typer

    from .bench import NAMES

    @app.command("bench", epilog="Example: marginpath bench kernel --quick")
    def run_bench(
        name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(NAMES)}.")],
        quick: Annotated[
            bool, typer.Option("--quick", help="Reduced sizes, in seconds: to try it, not to quote.")
        ] = False,
        repeats: Annotated[
            int | None,
            typer.Option(min=1, help="Rounds in which the contestants take turns: 3, or 1 with --quick."),
        ] = None,
        out: Annotated[
            Path,
            typer.Option(
                "--out", metavar="DIR", file_okay=False, help="Folder for NAME.json, or NAME-quick.json."
            ),
        ] = Path("benchmarks/results"),
    ) -> None:
        """Time marginpath side by side with what people use today: one table, and one file of numbers."""
        from . import bench

        if name not in NAMES:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(NAMES)}.", param_hint="NAME")

        def tell(line: str) -> None:
            errors.print(line, markup=False, soft_wrap=True)

        try:
            report = bench.run(name, quick=quick, repeats=repeats, out=out, tell=tell)
        except (ImportError, OSError) as error:
            errors.print(f"No benchmark. {error}", markup=False, soft_wrap=True)
            raise typer.Exit(1) from None
        _show_report(console, report)
        if report.failed:
            raise typer.Exit(1)


def _show_report(console: "Console", report: "Report") -> None:
    from .bench.report import remarks, table

    if not console.is_terminal:  # a file has room for all columns
        console.width = 150
    console.print(table(report))
    for line in remarks(report):
        console.print(line, markup=False, soft_wrap=True)


def _add_reproduce(app: "typer.Typer", console: "Console", errors: "Console") -> None:
    import typer

    from .experiments import NAMES

    @app.command("reproduce", epilog="Example: marginpath reproduce rates --out results")
    def run_reproduce(
        name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(NAMES)}.")],
        out: Annotated[
            Path,
            typer.Option("--out", metavar="DIR", file_okay=False, help="Folder for tables and pictures."),
        ] = Path("reproduced"),
    ) -> None:
        """Make a table or figure again, from the data to the picture: numbers, svg and png."""
        from . import experiments
        from .experiments.drawing import empty_figure
        from .experiments.writing import make_folder, write_files

        if name not in NAMES:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(NAMES)}.", param_hint="NAME")
        experiment, begin = experiments.find(name), time.perf_counter()
        try:  # what can fail for other reasons than the numbers fails first
            empty_figure(1, 1)
            make_folder(out)
            with errors.status(name) as status:
                table = experiment.compute(watch=lambda text: status.update(f"{name}: {text}"))
            written = write_files(out, experiment.files(table))
        except (ImportError, OSError) as error:
            errors.print(f"Nothing reproduced. {error}", markup=False, soft_wrap=True)
            raise typer.Exit(1) from None
        if not console.is_terminal:  # a file has room for all columns
            console.width = 150
        console.print(experiment.printed(table))
        console.print(f"Written: {', '.join(map(str, written))}", markup=False, soft_wrap=True)
        console.print(f"{name} took {time.perf_counter() - begin:.0f} s.")
