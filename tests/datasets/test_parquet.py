"""Parquet files that are read in batches into a mapped array."""

import logging
import re
from types import SimpleNamespace

import numpy as np
import pytest

import marginpath as mp

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

read_parquet = mp.datasets.read_parquet


@pytest.fixture
def table(rng):
    return pd.DataFrame(
        {
            "width": rng.standard_normal(500),
            "small": rng.standard_normal(500).astype(np.float32),
            "count": rng.integers(0, 100, 500),
            "flag": rng.random(500) < 0.5,
            "kind": rng.choice(["pear", "apple"], 500),
        }
    )


def written(table, file, **settings):
    file.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(file, **settings)
    return file


def test_a_file_is_read_whole_whatever_the_batches(table, tmp_path, monkeypatch):
    monkeypatch.setattr("marginpath.datasets.parquet._BATCH", 37)
    X, y, names = read_parquet(written(table, tmp_path / "a.parquet", row_group_size=100), target="kind")
    assert isinstance(X, np.memmap)
    assert names == ["width", "small", "count", "flag"]
    np.testing.assert_array_equal(X, table[names].to_numpy(dtype=np.float32))
    np.testing.assert_array_equal(y, table["kind"].to_numpy(dtype=str))


def test_a_folder_is_read_in_the_order_of_names(table, tmp_path, caplog):
    for part in (2, 0, 1):
        rows = table.iloc[200 * part : 200 * (part + 1)]
        written(rows, tmp_path / "parts" / f"sub-{part}" / "part.parquet")
    (tmp_path / "parts" / "_SUCCESS").touch()
    with caplog.at_level(logging.INFO, "marginpath"):
        X, y, names = read_parquet(tmp_path / "parts", target="count", columns=["small", "width"])
    np.testing.assert_array_equal(X, table[["small", "width"]].to_numpy(dtype=np.float32))
    np.testing.assert_array_equal(y, table["count"])
    assert names == ["small", "width"]
    assert "part.parquet is read: 400 of 500 rows." in caplog.text


def test_the_copy_leaves_no_file_behind(table, tmp_path):
    (tmp_path / "room").mkdir()
    rows = read_parquet(written(table, tmp_path / "a.parquet"), target="kind", folder=tmp_path / "room")
    assert not list((tmp_path / "room").iterdir())
    assert rows.X[499, 0] == np.float32(table["width"].iloc[-1])


def test_a_disk_without_room_is_told_before_anything_is_written(table, tmp_path, monkeypatch):
    file = written(table, tmp_path / "a.parquet")
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=1000))
    with pytest.raises(OSError, match=r"takes 8e-06 GB, and .* has 1e-06 GB left\. Pass folder="):
        read_parquet(file, target="kind")


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("width", ["a"] * 500, "Column 'width' .* holds .*string.*marginpath.tables"),
        ("width", pd.date_range("2020", periods=500), "Column 'width' .* holds timestamp.*marginpath.tables"),
        ("flag", pd.Categorical(["a"] * 500), "Column 'flag' .* holds dictionary.*marginpath.tables"),
        ("small", [np.nan] + [1.0] * 499, "Column 'small' .* missing values.*marginpath.tables"),
        ("count", pd.array([None] + [1] * 499, dtype="Int64"), "Column 'count' .* missing values"),
        ("width", [1e300] * 500, "Column 'width' .* float32 cannot hold"),
        ("kind", [None] + ["a"] * 499, "The target 'kind' of a.parquet has missing values"),
        ("kind", [np.nan] + [1.0] * 499, "The target 'kind' of a.parquet has missing values"),
    ],
)
def test_columns_that_are_no_numbers_are_named(column, values, message, table, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_parquet(written(table.assign(**{column: values}), tmp_path / "a.parquet"), target="kind")


def test_what_is_not_there_is_named(table, tmp_path):
    file = written(table, tmp_path / "parts" / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet has no column 'sort'; it has width, small"):
        read_parquet(file, target="sort")
    with pytest.raises(ValueError, match="has no column 'depth'"):
        read_parquet(file, target="kind", columns=["width", "depth"])
    with pytest.raises(ValueError, match="none of them the target 'kind'; got width, kind"):
        read_parquet(file, target="kind", columns=["width", "kind"])
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        read_parquet(tmp_path / "b.parquet", target="kind")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no files \*.parquet"):
        read_parquet(tmp_path / "empty", target="kind")
    with pytest.raises(ValueError, match="has no rows"):
        read_parquet(written(table.iloc[:0], tmp_path / "none.parquet"), target="kind")
    written(table.drop(columns="flag"), tmp_path / "parts" / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet has no column 'flag'"):
        read_parquet(tmp_path / "parts", target="kind")
    (tmp_path / "text.parquet").write_text("width,kind")
    with pytest.raises(ValueError, match="could not be read as parquet"):
        read_parquet(tmp_path / "text.parquet", target="kind")


def test_time_stamps_that_float32_cannot_tell_apart_are_named(tmp_path, monkeypatch, rng):
    monkeypatch.setattr("marginpath.datasets.parquet._BATCH", 37)
    minute, year = 60_000, 365 * 24 * 3_600_000  # in milliseconds
    table = pd.DataFrame(
        {
            "soon": 1_700_000_000_000 + rng.integers(0, minute, 200),
            "later": 1_600_000_000_000 + rng.integers(0, 5 * year, 200),
            "price": 1e7 + rng.standard_normal(200),
            "constant": np.full(200, 2**30 + 1),
            "number": 2**62 + rng.integers(0, 100, 200),  # all the same in float64, too
            "kind": np.arange(200) % 2,
        }
    )
    with pytest.warns(UserWarning, match="float32, which rounds") as told:
        read_parquet(written(table, tmp_path / "a.parquet"), target="kind")
    (warning,) = told
    found = re.findall(
        r"'(\w+)' by up to (\S+), with a standard deviation of (\S+?)[,.] ", str(warning.message)
    )
    assert [name for name, *_ in found] == ["soon", "price", "number"]
    for name, rounded, deviation in found:
        spread = (table[name] - table[name].min()).std()
        assert float(deviation) == pytest.approx(spread, rel=0.02)
        assert float(rounded) > 0.01 * float(deviation)
    apart = {name: table[name] - table[name].min() for name in ("soon", "price", "number")}
    X, _, names = read_parquet(written(table.assign(**apart), tmp_path / "b.parquet"), target="kind")
    np.testing.assert_array_equal(X[:, names.index("soon")], apart["soon"])  # and no warning any more
