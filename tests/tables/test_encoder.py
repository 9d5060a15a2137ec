"""What becomes of every kind of column, in pandas and in polars, and in a file."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import marginpath as mp
from marginpath.files.objects import pack, unpack
from marginpath.tables.parsing import as_number, as_time, date_format

N = 60


@pytest.fixture
def columns():
    """Return a column of every kind, each with its gaps."""
    rng = np.random.default_rng(0)
    day = dt.datetime(2023, 1, 1)
    return {
        "row_id": list(range(N)),
        "uuid": [f"x{i:05}" for i in rng.permutation(N)],
        "country": ["CH"] * N,
        "empty": [None] * N,
        "age": [None if i % 9 == 0 else float(a) for i, a in enumerate(rng.normal(40, 9, N).round(1))],
        "price": [f"{int(p):,}" for p in rng.integers(1000, 9_000_000, N)],
        "food": [None if i % 7 == 0 else str(f) for i, f in enumerate(rng.choice(["hay", "fish"], N))],
        "grade": [int(g) for g in rng.integers(1, 6, N)],
        "born": [(day + dt.timedelta(days=int(d))).date() for d in rng.integers(0, 700, N)],
        "seen": [(day + dt.timedelta(hours=int(h))).isoformat() for h in rng.integers(0, 9000, N)],
        "town": [
            f"{a}{b}" for a, b in zip(rng.choice(list("abcdefgh"), N), rng.integers(0, 9, N), strict=True)
        ],
        "note": [" ".join(rng.choice(["very", "good", "bad", "slow", "fast", "dog"], 5)) for _ in range(N)],
    }


KINDS = {
    "row_id": "left out",
    "uuid": "left out",
    "country": "left out",
    "empty": "left out",
    "age": "number",
    "price": "number",
    "food": "category",
    "grade": "category",
    "born": "date",
    "seen": "date",
    "town": "category",
    "note": "text",
}


def test_every_column_is_what_it_looks_like(columns):
    encoder = mp.TableEncoder().fit(pd.DataFrame(columns))
    assert {name: column.kind for name, column in encoder.columns_.items()} == KINDS | {
        "town": encoder.columns_["town"].kind
    }
    assert encoder.columns_["uuid"].why == "an identifier: a different value in every row"
    assert encoder.columns_["price"].why == "numbers written as text"
    X = encoder.transform(pd.DataFrame(columns))
    assert X.shape == (N, len(encoder.get_feature_names_out()))
    assert np.isfinite(X).all()


def test_pandas_and_polars_agree(columns):
    pandas, polars = pd.DataFrame(columns), pl.DataFrame(columns)
    first, second = mp.TableEncoder().fit(pandas), mp.TableEncoder().fit(polars)
    assert first.columns_ == second.columns_
    np.testing.assert_array_equal(first.transform(pandas), second.transform(polars))
    np.testing.assert_array_equal(first.transform(polars), second.transform(pandas))


def test_zones_nullable_and_categorical_dtypes():
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 30, 4] * 5, dtype="Int64"),
            "b": pd.array([True, None, False, True] * 5, dtype="boolean"),
            "c": pd.Categorical(["u", "v", None, "u"] * 5),
            "t": pd.date_range("2024-01-01", periods=20, freq="7h", tz="Europe/Zurich"),
            "d": pd.to_timedelta(np.arange(20) ** 2, "h"),
        }
    )
    encoder = mp.TableEncoder().fit(frame)
    assert [c.kind for c in encoder.columns_.values()] == ["number", "number", "category", "date", "number"]
    assert np.isfinite(encoder.transform(frame)).all()


def test_numbers_far_out_do_not_flatten_the_others():
    x = np.r_[np.linspace(0, 1, 99), 1e9]
    z = mp.TableEncoder().fit_transform(pd.DataFrame({"x": x}))[:, 0]
    assert np.ptp(z[:99]) > 2
    assert z[99] < 10


def test_plain_numbers_get_mean_0_and_deviation_1(rng):
    z = mp.TableEncoder().fit_transform(pd.DataFrame({"x": rng.normal(7, 3, 500)}))
    assert [z.mean(), z.std()] == pytest.approx([0, 1], abs=1e-12)


def test_missing_is_information():
    frame = pd.DataFrame({"x": [1.0, np.nan] * 20, "c": ["u", None] * 20, "t": ["2024-01-05", None] * 20})
    frame.loc[0, ["x", "t"]] = [2.0, "2024-02-07"]
    encoder = mp.TableEncoder().fit(frame)
    names = encoder.get_feature_names_out().tolist()
    flags = encoder.transform(frame)[:, [names.index(f"{c} is missing") for c in "xct"]]
    np.testing.assert_array_equal(flags, np.tile([[0, 0, 0], [1, 1, 1]], (20, 1)))


def test_a_gap_where_the_fit_had_none_is_the_middle():
    encoder = mp.TableEncoder().fit(pd.DataFrame({"x": np.arange(20.0) ** 2, "c": ["u", "v"] * 10}))
    row = encoder.transform(pd.DataFrame({"x": [np.nan], "c": [None]}))
    np.testing.assert_array_equal(row, encoder.transform(pd.DataFrame({"x": [90.5], "c": ["new"]})))


def test_dates_turn():
    days = pd.DataFrame({"t": pd.date_range("2021-01-01", periods=800, freq="D")})
    encoder = mp.TableEncoder().fit(days)
    assert encoder.encodings_["t"].circles == ("season", "weekday")
    X = dict(zip(encoder.get_feature_names_out(), encoder.transform(days).T, strict=True))
    np.testing.assert_allclose(X["t, weekday (cos)"][:-7], X["t, weekday (cos)"][7:], atol=1e-9)
    assert len(np.unique(X["t, weekday (cos)"].round(6) + 2 * X["t, weekday (sin)"].round(6))) == 7
    assert X["t, season (cos)"][0] == pytest.approx(X["t, season (cos)"][365], abs=1e-3)
    assert (np.diff(X["t"]) > 0).all()


@pytest.mark.parametrize(
    ("words", "how"),
    [
        ({"2021-03-04", "2021-12-24 17:05"}, "iso"),
        ({"2021-03-04T01:02:03+02:00"}, "iso"),
        ({"04.03.2021", "24.12.2021"}, "%d.%m.%Y"),
        ({"03/04/2021", "12/24/2021"}, "%m/%d/%Y"),
        ({"03/04/2021", "24/12/2021"}, "%d/%m/%Y"),
        ({"4 Mar 2021"}, "%d %b %Y"),
        ({"12/24/2021 5:05 PM"}, "%m/%d/%Y %I:%M %p"),
        ({"20210304"}, None),
        ({"2021-03-04", "soon"}, None),
        ({"v1.2.2021"}, None),
    ],
)
def test_ways_to_write_a_date(words, how):
    assert date_format(words) == how


def test_dates_with_a_word_for_what_is_missing():
    encoder = mp.TableEncoder().fit(pd.DataFrame({"t": ["2021-03-04", "?", "2021-12-24"] * 9}))
    assert encoder.columns_["t"].kind == "date"
    assert "t is missing" in encoder.get_feature_names_out()


def test_a_zone_is_counted():
    assert as_time("2021-03-04T01:30:00+02:00", "iso") == dt.datetime(2021, 3, 3, 23, 30)


@pytest.mark.parametrize(
    ("word", "number"),
    [("1,234,567.5", 1234567.5), ("$1,200", 1200), ("-3e-2", -0.03), ("45%", 45), ("€ 7", 7), (".5", 0.5)],
)
def test_numbers_in_words(word, number):
    assert as_number(word) == number


@pytest.mark.parametrize("word", ["1,23", "12-3", "one", "1.2.3", "e5", ".", "1_000", "٣"])
def test_no_numbers_in_words(word):
    assert as_number(word) is None or np.isnan(as_number(word))


def test_text_alone_stays_sparse_and_beside_others_it_is_reduced():
    rng = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(300)])
    text = [" ".join(rng.choice(words, 8)) for _ in range(200)]
    alone = mp.TableEncoder().fit_transform(pd.DataFrame({"note": text}))
    assert sp.issparse(alone)
    assert alone.shape[1] > 300
    both = mp.TableEncoder().fit_transform(pd.DataFrame({"note": text, "x": rng.normal(size=200)}))
    assert both.shape == (200, 31)


def test_very_many_levels_stay_few_features():
    rng = np.random.default_rng(0)
    shops = pd.DataFrame({"shop": [f"shop-{i}" for i in rng.integers(0, 900, 3000)]})
    encoder = mp.TableEncoder().fit(shops)
    assert encoder.columns_["shop"].kind == "names"
    assert encoder.transform(shops).shape == (3000, 60)


def test_asked_kinds():
    frame = pd.DataFrame({"zip": np.repeat(np.arange(8000, 8030), 4), "id": range(120), "w": ["a", "b"] * 60})
    encoder = mp.TableEncoder({"zip": "category", "id": "number", "w": "left out"}).fit(frame)
    assert [str(c) for c in encoder.columns_.values()] == [
        "category: asked for, 30 features",
        "number: asked for, 1 feature",
        "left out: asked for",
    ]
    for kinds, words in (
        ({"w": "number"}, "'w' cannot be taken as numbers: it has 'a'"),
        ({"w": "date"}, "'w' cannot be taken as dates: 'a'"),
        ({"w": "words"}, "kinds are number, category, names, text, date, left out"),
        ({"size": "number"}, "kinds names 'size', and the table has 'zip', 'id', 'w'"),
    ):
        with pytest.raises(ValueError, match=words):
            mp.TableEncoder(kinds).fit(frame)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"x": ["1", "two"] * 10, "t": ["2024-01-05"] * 20}), "'x' must hold numbers.*'two'"),
        (pd.DataFrame({"x": [1.0, np.inf], "t": ["2024-01-05"] * 2}), r"'x' has infinite values \(row 2\)"),
        (pd.DataFrame({"x": [1.0], "t": ["soon"]}), "'t' must hold dates.*'soon'"),
        (pd.DataFrame({"x": [1.0], "t": [3.5]}), "'t' must hold dates.*numbers"),
        (pd.DataFrame({"x": [1.0]}), "lacks the columns 't'"),
        (pd.DataFrame([[1.0, 2.0]], columns=["x", "x"]), "Two columns of the table have the name 'x'"),
        ("table", "A table is a data frame.*got a str"),
        (sp.csr_array(np.eye(2)), "got a csr_array. Sparse features need no encoding"),
        (pl.LazyFrame({"x": [1.0]}), "got a LazyFrame"),
    ],
)
def test_tables_that_do_not_fit(frame, words):
    encoder = mp.TableEncoder().fit(pd.DataFrame({"x": [1.5, 2, 4], "t": ["2024-01-05", "2024-02-07", None]}))
    with pytest.raises(ValueError, match=words):
        encoder.transform(frame)


def test_a_table_that_tells_nothing():
    with pytest.raises(ValueError, match=r"No column .* \(a: the same value in every row; b: no value"):
        mp.TableEncoder().fit(pd.DataFrame({"a": [1, 1], "b": [None, None]}))
    with pytest.raises(ValueError, match="0 rows"):
        mp.TableEncoder().fit(pd.DataFrame({"a": []}))


def test_arrays_have_no_codes():
    X = np.tile(np.arange(5.0), 20)[:, None]
    assert mp.TableEncoder().fit(X).columns_["x1"].kind == "number"
    assert mp.TableEncoder().fit(pd.DataFrame(X, columns=["x1"])).columns_["x1"].kind == "category"


def test_a_file_holds_it_without_code(columns):
    frame = pd.DataFrame(columns)
    encoder = mp.TableEncoder().fit(frame)
    again = unpack(*pack(encoder))
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))
    assert again.columns_ == encoder.columns_
    text = pd.DataFrame({"note": columns["note"]})
    alone = mp.TableEncoder({"note": "text"}).fit(text)
    assert (unpack(*pack(alone)).transform(text) != alone.transform(text)).nnz == 0


def test_it_never_looks_at_the_target(columns):
    frame = pd.DataFrame(columns)
    first = clone(mp.TableEncoder()).fit_transform(frame, np.arange(N) % 2)
    np.testing.assert_array_equal(first, mp.TableEncoder().fit_transform(frame, np.arange(N) // 30))
