"""The options of a fit, which commands share."""

from __future__ import annotations

from typing import Annotated

import typer

#: What options may be; written down here so that others are refused before a solver is loaded.
KERNELS = ("auto", "rbf", "linear", "poly", "laplacian", "cosine")
TASKS = ("auto", "classify", "regress")
LOSSES = ("epsilon_insensitive", "squared", "absolute", "huber", "quantile")
STOPPING = ("cv", "holdout", "margin", "discrepancy", "none")
SELECTIONS = ("smooth", "best", "one_se")
KINDS = ("number", "category", "names", "text", "date")
KEEP = ("model", "path")

_DATA, _PATH = "Columns", "Path"

Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="The column with the classes, or with the quantity.",
        rich_help_panel=_DATA,
    ),
]
Task = Annotated[
    str,
    typer.Option(
        "--task",
        metavar="TASK",
        help="classify or regress; auto: by the look of the target.",
        rich_help_panel=_DATA,
    ),
]
Loss = Annotated[
    str,
    typer.Option(
        "--loss", metavar="LOSS", help=f"Of a regression: {', '.join(LOSSES)}.", rich_help_panel=_PATH
    ),
]
Quantile = Annotated[
    float,
    typer.Option(
        "--quantile", min=0.001, max=0.999, help="With --loss quantile: which one.", rich_help_panel=_PATH
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop", metavar="COLUMN", help="Leave a column out. Repeat it for more.", rich_help_panel=_DATA
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COLUMN",
        help="Take the numbers of a column as categories (codes, not quantities).",
        rich_help_panel=_DATA,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="WORD",
        help="A word that stands for a missing value in a csv file, beside NA, nan and nothing at all.",
        rich_help_panel=_DATA,
    ),
]
Impute = Annotated[
    bool, typer.Option("--impute", hidden=True, help="Nothing: missing values are always taken as they are.")
]
As = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="COLUMN=KIND",
        help="What a column is, if not what it looks like: number, category, names, text, date.",
        rich_help_panel=_DATA,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Of a csv file, if not UTF-8: cp1252, latin-1, …",
        rich_help_panel=_DATA,
    ),
]
Rare = Annotated[
    str,
    typer.Option(
        "--rare",
        metavar="HOW",
        help="What to do with classes of too few rows: drop them, merge them into one, or keep them.",
        rich_help_panel=_DATA,
    ),
]
RareBelow = Annotated[
    int,
    typer.Option("--rare-below", metavar="ROWS", min=2, help="How many are too few.", rich_help_panel=_DATA),
]
NoScale = Annotated[
    bool,
    typer.Option(
        "--no-scale",
        help="Take numbers as they are; by default each is cut far out and gets mean 0 and deviation 1.",
        rich_help_panel=_DATA,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="csv, parquet, svmlight or npz, where the ending does not tell.",
        rich_help_panel=_DATA,
    ),
]
Kernel = Annotated[
    str,
    typer.Option(
        "--kernel",
        metavar="KERNEL",
        help=f"{', '.join(KERNELS)}. auto: linear or rbf, by the folds.",
        rich_help_panel=_PATH,
    ),
]
Gamma = Annotated[
    str | None,
    typer.Option(
        "--gamma",
        metavar="GAMMA",
        help="Of rbf, poly and laplacian: scale, auto, a number; or tuned (rbf): chosen by the folds.",
        rich_help_panel=_PATH,
    ),
]
Degree = Annotated[int, typer.Option("--degree", min=1, help="Of poly.", rich_help_panel=_PATH)]
Stopping = Annotated[
    str,
    typer.Option(
        "--stopping",
        metavar="RULE",
        help="What chooses the step: cv, holdout, margin, discrepancy (with --noise-level), none.",
        rich_help_panel=_PATH,
    ),
]
Folds = Annotated[
    int, typer.Option("--cv", min=2, help="Folds of the cross-validation.", rich_help_panel=_PATH)
]
Selection = Annotated[
    str,
    typer.Option(
        "--selection",
        metavar="HOW",
        help="The best score of neighbouring steps together (smooth), of a step by itself (best), or the "
        "first step within a standard error of the best (one_se).",
        rich_help_panel=_PATH,
    ),
]
Scoring = Annotated[
    str | None,
    typer.Option(
        "--scoring",
        metavar="SCORE",
        help="What the folds score, by scikit-learn's names: balanced_accuracy, f1, roc_auc, …",
        rich_help_panel=_PATH,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="The class that f1, precision, recall or average_precision is about; else the rarer one.",
        rich_help_panel=_PATH,
    ),
]
NoiseLevel = Annotated[
    float | None,
    typer.Option(
        "--noise-level", min=0, max=1, help="Share of labels to take for wrong.", rich_help_panel=_PATH
    ),
]
Balanced = Annotated[
    bool, typer.Option("--balanced", help="Let rare classes weigh as much as others.", rich_help_panel=_PATH)
]
MaxIter = Annotated[
    int | None, typer.Option("--max-iter", min=1, help="At most so many steps.", rich_help_panel=_PATH)
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit", metavar="SECONDS", help="Keep the best step so far then.", rich_help_panel=_PATH
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Of everything that is drawn.", rich_help_panel=_PATH)]
Keep = Annotated[
    str,
    typer.Option(
        "--keep",
        metavar="WHAT",
        help="What the file keeps: model, all that predictions need; or path, all steps and rows too.",
    ),
]
