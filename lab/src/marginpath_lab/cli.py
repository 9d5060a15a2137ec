"""The commands of the laboratory, which the command line of marginpath finds by their entry points."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer
    from rich.console import Console

    from .bench.report import Report
    from .experiments.pieces import Pieces


def add_bench(app: "typer.Typer", console: "Console", errors: "Console") -> None:
    """Add `bench`."""
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
        only: Annotated[
            str | None,
            typer.Option(
                metavar="TEXT",
                help="Measure the tasks with TEXT in their names, and keep that in DIR: the same command "
                "without it writes the file, and measures only what is missing.",
            ),
        ] = None,
        processor_time: Annotated[
            bool,
            typer.Option(
                "--processor-time",
                help="Measure processor time, on one core (taskset -c 0): where others use the machine too.",
            ),
        ] = False,
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
            report = bench.run(
                name,
                quick=quick,
                repeats=repeats,
                only=only,
                out=out,
                processor_time=processor_time,
                tell=tell,
            )
        except (ImportError, OSError, ValueError) as error:
            errors.print(f"No benchmark. {error}", markup=False, soft_wrap=True)
            raise typer.Exit(1) from None
        _show_report(console, report)
        if report.failed:
            raise typer.Exit(1)


def _show_report(console: "Console", report: "Report") -> None:
    from .bench.report import remarks, table

    if not console.is_terminal:  # a file has room for all columns
        console.width = 220
    console.print(table(report))
    for line in remarks(report):
        console.print(line, markup=False, soft_wrap=True)


def add_reproduce(app: "typer.Typer", console: "Console", errors: "Console") -> None:
    """Add `reproduce`."""
    import typer

    from .experiments import NAMES

    everything = ", ".join((*NAMES, "all"))

    @app.command("reproduce", epilog="Example: marginpath reproduce all --out results")
    def run_reproduce(
        name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {everything}.")],
        out: Annotated[
            Path,
            typer.Option("--out", metavar="DIR", file_okay=False, help="Folder for tables and pictures."),
        ] = Path("reproduced"),
        settings: Annotated[
            str,
            typer.Option(
                "--as",
                metavar="SETTINGS",
                help="Of the paper's figures: program, what its authors' program does and what its pictures "
                "were made with, or text, what its text says.",
            ),
        ] = "program",
    ) -> None:
        """Make a table or figure again, from the data to the picture: numbers, svg and png.

        What is finished of an interrupted run is kept in DIR; the same command goes on from there.
        """
        from .experiments.drawing import empty_figure
        from .experiments.pieces import Pieces
        from .experiments.settings import SETTINGS
        from .experiments.writing import make_folder

        if name not in (*NAMES, "all"):
            raise typer.BadParameter(f"{name!r} is none of {everything}.", param_hint="NAME")
        if settings not in SETTINGS:
            raise typer.BadParameter(f"{settings!r} is none of {', '.join(SETTINGS)}.", param_hint="--as")
        if not console.is_terminal:  # a file has room for all columns
            console.width = 220
        pieces = Pieces(out / ".unfinished")
        try:  # what can fail for other reasons than the numbers fails first
            empty_figure(1, 1)
            make_folder(out)
            if name != "all":
                _reproduce(name, out, settings, pieces, console, errors)
            for each in NAMES if name == "all" else ():
                try:
                    _reproduce(each, out, settings, pieces, console, errors)
                except FileNotFoundError as error:  # data that cannot be reached
                    reason = str(error).splitlines()[0]
                    errors.print(f"{each} is left out: {reason}", markup=False, soft_wrap=True)
        except (ImportError, OSError) as error:
            errors.print(f"Nothing reproduced. {error}", markup=False, soft_wrap=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            errors.print("Interrupted. The same command goes on from here.", markup=False, soft_wrap=True)
            raise typer.Exit(130) from None
        pieces.clear()


def _reproduce(
    name: str, out: Path, settings: str, pieces: "Pieces", console: "Console", errors: "Console"
) -> None:
    """Run one experiment, write its files and say what came out."""
    from .experiments import PAPER, find
    from .experiments.settings import find_settings
    from .experiments.writing import write_files

    experiment, begin = find(name), time.perf_counter()
    options = {"settings": find_settings(settings), "pieces": pieces} if name in PAPER else {}
    with errors.status(name) as status:
        table = experiment.compute(watch=lambda text: status.update(f"{name}: {text}"), **options)
    written = write_files(out, experiment.files(table))
    console.print(experiment.printed(table))
    if written:
        console.print(f"Written: {', '.join(map(str, written))}", markup=False, soft_wrap=True)
    how = f" with the settings of the {settings}" if options else ""
    console.print(f"{name}{how} took {time.perf_counter() - begin:.0f} s.")
