"""Tables as people have them: four from a folder of data, and twelve made ones, each with its trouble."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from marginpath.datasets.downloads import own_file

#: The target column of the tables that MARGINPATH_DATA/more holds.
GIVEN = {"attrition": "Attrition", "credit_data": "Status", "german-mixed": "class", "soybean": "Class"}


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns, a target, and their name."""

    name: str
    frame: Any
    y: np.ndarray


def given(name: str) -> RawTable:
    """Return a table of the folder MARGINPATH_DATA; raise FileNotFoundError where it is not there."""
    if (file := own_file(f"more/{name}.csv")) is None:
        raise FileNotFoundError(f"Set MARGINPATH_DATA to a folder that has more/{name}.csv.")
    frame = pd.read_csv(file)
    return RawTable(name, frame, frame.pop(GIVEN[name]).astype(str).to_numpy())


def made(name: str, n: int = 1200, seed: int = 0) -> RawTable:
    """Return one of the made tables.

    Examples
    --------
    >>> table = made("orders", n=100)
    >>> list(table.frame.columns)
    ['order_id', 'ordered', 'stamp', 'zip', 'amount', 'note']
    """
    frame, y = MADE[name](np.random.default_rng(seed), n)
    return RawTable(name, frame, np.asarray(y).astype(str))


def _noisy(rng: np.random.Generator, score: np.ndarray, share: float = 0.5) -> np.ndarray:
    """Return yes for the highest share of the scores, with noise of a third of their deviation."""
    noisy = score + rng.normal(0, score.std() / 3 + 1e-9, len(score))
    return np.where(noisy > np.quantile(noisy, 1 - share), "yes", "no")


def _nursery(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Categories alone, and one class of a single row."""
    names = ("parents", "nurse", "form", "housing", "finance", "health")
    frame = pd.DataFrame({name: rng.choice(list("abcd"), n) for name in names})
    rank = sum(frame[name].map("abcd".index) for name in ("nurse", "housing", "health"))
    grade = np.digitize(rank + rng.normal(0, 0.7, n), [3, 6])
    y = np.array(["priority", "special", "not"], dtype=object)[grade]
    y[0] = "recommend"
    return frame, y


def _churn(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """One in twenty rows of the rarer class."""
    frame = pd.DataFrame(
        {"calls": rng.poisson(3, n), "months": rng.normal(20, 6, n), "plan": rng.choice(["a", "b", "c"], n)}
    )
    return frame, _noisy(rng, frame["calls"] - frame["months"] / 4 + 2 * (frame["plan"] == "b"), 0.05)


def _messages(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Text alone."""
    y = np.where(rng.random(n) < 0.15, "spam", "ham")
    common, telling = [f"word{i}" for i in range(500)], [f"prize{i}" for i in range(40)]
    words = [[*rng.choice(common, 12), *(rng.choice(telling, 3) if label == "spam" else ())] for label in y]
    return pd.DataFrame({"message": [" ".join(rng.permutation(each)) for each in words]}), y


def _orders(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Dates, a time stamp, a zip, an identifier, "1,234" and a note."""
    when = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    angry = rng.random(n) < 0.2
    notes = [
        " ".join(rng.choice(["please", "ring", "twice", "leave", "at", "door"], 5)) + " again" * bool(a)
        for a in angry
    ]
    frame = pd.DataFrame(
        {
            "order_id": [f"O-{i:06}" for i in rng.permutation(n)],
            "ordered": when.strftime("%Y-%m-%d"),
            "stamp": when + pd.to_timedelta(rng.integers(0, 86_400, n), "s"),
            "zip": rng.integers(1000, 9999, n),
            "amount": [f"{int(a):,}" for a in rng.lognormal(6, 1.5, n)],
            "note": notes,
        }
    )
    return frame, _noisy(rng, 2.0 * (when.month >= 11) + angry, 0.3)


def _prices(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Numbers written for people: $1,234, 12 %, ?."""
    price, discount = rng.lognormal(8, 1, n), rng.uniform(0, 40, n)
    frame = pd.DataFrame(
        {
            "price": [f"${p:,.2f}" for p in price],
            "discount": [f"{d:.0f} %" if d > 4 else "?" for d in discount],
            "seller": rng.choice(["shop", "private"], n),
        }
    )
    return frame, _noisy(rng, np.log(price) - discount / 15)


def _questions(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Use a word for what is missing, in numbers and in categories."""
    age, job = rng.normal(45, 12, n), rng.choice(["clerk", "farmer", "none of these"], n)
    score = age / 12 + 2 * (job == "farmer")
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.15, "?", age.round(0).astype(int).astype(str)),
            "job": np.where(rng.random(n) < 0.15, "?", job),
            "hours": rng.normal(40, 5, n).round(1),
        }
    )
    return frame, _noisy(rng, score)


def _beans(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Numbers on scales of many orders, several classes."""
    kind = rng.integers(0, 5, n)
    centre = rng.normal(size=(5, 6)) * 1.6
    X = (centre[kind] + rng.normal(size=(n, 6))) * 10.0 ** np.arange(-3, 3) + 10.0 ** np.arange(-2, 4)
    return pd.DataFrame(X, columns=[f"m{j}" for j in range(6)]), np.array(list("abcde"))[kind]


def _merchants(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Have a column of hundreds of levels, whose names share parts that tell."""
    trade = rng.choice(["bakery", "garage", "casino", "school"], n)
    town = rng.choice([f"{a}{b}" for a in ("Ober", "Unter", "Neu") for b in ("dorf", "berg", "see")], n)
    names = [f"{a}-{b}-{i}" for a, b, i in zip(trade, town, rng.integers(0, 12, n), strict=True)]
    amount = rng.lognormal(4, 1, n)
    return pd.DataFrame({"merchant": names, "amount": amount}), _noisy(
        rng, 2.0 * (trade == "casino") + np.log(amount) / 2, 0.35
    )


def _silent(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Let what is missing tell more than what is there."""
    income, silent = rng.lognormal(10, 0.5, n), rng.random(n) < 0.35
    frame = pd.DataFrame(
        {
            "income": np.where(silent, np.nan, income),
            "owner": pd.Series(rng.choice(["rent", "own"], n)).mask(rng.random(n) < 0.2),
            "age": rng.normal(40, 10, n),
        }
    )
    return frame, _noisy(rng, 2.0 * silent + (frame["age"] - 40) / 15)


def _empty(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Columns of one value and of none, and an index."""
    frame = pd.DataFrame({"Unnamed: 0": np.arange(n), "x": rng.normal(size=n), "z": rng.normal(size=n)})
    return frame.assign(country="CH", remark=None), _noisy(rng, frame["x"] * frame["z"])


def _varieties(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Have a dozen classes of very different sizes."""
    share = np.geomspace(1, 0.05, 12)
    kind = rng.choice(12, n, p=share / share.sum())
    X = rng.normal(size=(12, 5))[kind] * 2 + rng.normal(size=(n, 5))
    return pd.DataFrame(X, columns=list("pqrst")), np.array([f"v{k:02}" for k in range(12)])[kind]


def _claims(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Heavy tails, grades as whole numbers, yes and no, all mixed, and an interaction."""
    frame = pd.DataFrame(
        {
            "damage": rng.pareto(1.5, n) * 1000,
            "grade": rng.integers(1, 6, n),
            "insured": rng.random(n) < 0.7,
            "region": rng.choice([f"r{i:02}" for i in range(25)], n),
            "years": rng.exponential(6, n).round(0),
        }
    )
    score = np.log1p(frame["damage"]) / 2 + (frame["grade"] == 3) * 2 - frame["insured"] * frame["years"] / 6
    return frame, _noisy(rng, score.to_numpy())


#: The made tables: what stopped somebody in each is told by their functions.
MADE: Mapping[str, Callable[[np.random.Generator, int], tuple[Any, Any]]] = {
    "nursery": _nursery,
    "churn": _churn,
    "messages": _messages,
    "orders": _orders,
    "prices": _prices,
    "questions": _questions,
    "beans": _beans,
    "merchants": _merchants,
    "silent": _silent,
    "empty": _empty,
    "varieties": _varieties,
    "claims": _claims,
}
