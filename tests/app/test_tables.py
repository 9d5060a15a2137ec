"""Tables from files: formats, kinds of columns, and what is said about data that cannot be used."""

import gzip

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from marginpath.app.tables import NotThere, Table, Unusable, check_target, read, with_rare

ROWS = {"weight": [1.5, 2.5, 3.5], "food": ["hay", "fish", "hay"], "kind": ["a", "b", "a"]}


def written(tmp_path, text, name="data.csv", **options):
    file = tmp_path / name
    file.write_text(text, **options)
    return file


@pytest.fixture
def frame():
    return pd.DataFrame(ROWS)


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "d.tsv", "d.parquet"])
def test_the_same_table_in_every_format(tmp_path, frame, name):
    file = tmp_path / name
    if "parquet" in name:
        frame.to_parquet(file)
    else:
        frame.to_csv(file, index=False, sep="\t" if "tsv" in name else ",")
    table = read(file, "kind")
    assert list(table.X.columns) == ["weight", "food"]
    assert table.y.tolist() == ["a", "b", "a"]
    assert table.X["weight"].tolist() == [1.5, 2.5, 3.5]


def test_semicolons_and_decimal_commas(tmp_path):
    table = read(written(tmp_path, "a;b;kind\n1,5;2,0;x\n2,5;3,25;y\n"), "kind")
    assert table.X["b"].tolist() == [2.0, 3.25]


def test_decimal_commas_beside_dates(tmp_path):
    text = "day;price;kind\n04.03.2021;1,5;x\n05.03.2021;2,25;y\n"
    assert read(written(tmp_path, text), "kind").X["price"].tolist() == [1.5, 2.25]
    text = "a;b;kind\n1.5;2,5;x\n2.5;3,5;y\n"
    assert read(written(tmp_path, text), "kind").X["a"].tolist() == [1.5, 2.5]


def test_a_byte_order_mark_and_spaces_around_names(tmp_path):
    table = read(written(tmp_path, "a , kind\n1,x\n2,y\n", encoding="utf-8-sig"), "kind")
    assert list(table.X.columns) == ["a"]


def test_npz(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.eye(3), y=np.array([0, 1, 0]))
    table = read(tmp_path / "d.npz")
    assert table.X.shape == (3, 3)
    assert table.y.tolist() == [0, 1, 0]


def test_npz_never_unpickles(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.array([[object()]], dtype=object), y=np.array([1]), allow_pickle=True)
    with pytest.raises(OSError, match="not an npz file of plain arrays"):
        read(tmp_path / "d.npz")


def test_svmlight_dense_and_sparse(tmp_path):
    X = sp.random(8, 5, density=0.5, random_state=0, format="csr")
    dump_svmlight_file(X, np.arange(8) % 2, str(tmp_path / "d.svm"))
    dense = read(tmp_path / "d.svm", n_features=5)
    sparse = read(tmp_path / "d.svm", n_features=5, sparse=True)
    np.testing.assert_allclose(dense.X.to_numpy(), sparse.X.toarray())
    assert dense.y.tolist() == [0, 1] * 4
    assert sparse.is_sparse


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", Unusable, "empty"),
        ("a,kind\n", Unusable, "no rows"),
        ("a,kind\n1,x\n2,y,3\n", Unusable, "Expected 2 fields in line 3, saw 3"),
        ("a,kind\n1,\n2,\n", Unusable, "No row of data.csv has a value in the target column 'kind'."),
        ("kind\nx\ny\n", Unusable, "no column left"),
        ("a,b\n1,x\n2,y\n", NotThere, "no column 'kind'. data.csv has the columns a, b."),
    ],
)
def test_files_that_cannot_be_used(tmp_path, text, error, words):
    with pytest.raises(error) as raised:
        read(written(tmp_path, text), "kind")
    assert words in str(raised.value)


def test_more_that_cannot_be_used(tmp_path):
    (tmp_path / "latin.csv").write_bytes("größe,kind\n1,x\n".encode("latin-1"))
    with pytest.raises(Unusable, match=r"not text in UTF-8.*--encoding cp1252"):
        read(tmp_path / "latin.csv", "kind")
    assert list(read(tmp_path / "latin.csv", "kind", encoding="latin-1").X.columns) == ["größe"]
    with pytest.raises(NotThere, match="--encoding latin-one is none that is known"):
        read(tmp_path / "latin.csv", "kind", encoding="latin-one")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read(tmp_path / "none.csv", "kind")
    with pytest.raises(NotThere, match="--format csv or parquet"):
        read(written(tmp_path, "a", name="data.xyz"), "kind")
    with pytest.raises(OSError, match="could not be read as parquet"):
        read(written(tmp_path, "a", name="d.parquet"), "kind")
    with pytest.raises(OSError, match="not an svmlight file"):
        read(written(tmp_path, "hello world\n", name="d.svm"))
    with gzip.open(tmp_path / "e.csv.gz", "wt") as stream:
        stream.write("a,kind\n1,x\n")
    (tmp_path / "f.csv.gz").write_text("a,kind\n")
    with pytest.raises(OSError, match="gzip"):
        read(tmp_path / "f.csv.gz", "kind")


def test_a_wide_encoding_of_a_whole_file(tmp_path):
    (tmp_path / "wide.csv").write_bytes("a;kind\n1,5;x\n2,5;y\n".encode("utf-16"))
    assert read(tmp_path / "wide.csv", "kind", encoding="utf-16").X["a"].tolist() == [1.5, 2.5]


def test_rows_without_a_target_are_left_out_of_a_fit_and_kept_for_a_prediction(tmp_path):
    file = written(tmp_path, "a,kind\n1,x\n2,\n3,y\n4,\n")
    table = read(file, "kind")
    assert table.y.tolist() == ["x", "y"]
    assert table.X["a"].tolist() == [1, 3]
    assert table.row_numbers.tolist() == [1, 3]
    assert table.notes == ("2 rows have no value in the target column 'kind' (row 2, 4): left out.",)
    whole = read(file, "kind", labelled=False)
    assert whole.y.tolist() == ["x", None, "y", None]
    assert whole.n_rows == 4
    assert whole.labelled.tolist() == [True, False, True, False]


def test_a_gap_does_not_turn_whole_classes_into_decimals(tmp_path):
    assert read(written(tmp_path, "a,kind\n1,0\n2,\n3,1\n"), "kind").y.tolist() == [0, 1]
    table = read(written(tmp_path, "a,kind\n1,0\n2,\n3,1\n"), "kind", labelled=False)
    assert table.y.tolist() == [0, None, 1]


def test_rare_classes_are_dropped_merged_or_kept():
    y = np.array(["a"] * 6 + ["b"] * 5 + ["c"] * 2 + ["d"])
    table = Table("t", pd.DataFrame({"x": np.arange(14)}), y, "kind")
    dropped = with_rare(table, "drop", 3)
    assert np.unique(dropped.y).tolist() == ["a", "b"]
    assert dropped.row_numbers.tolist() == list(range(1, 12))
    assert dropped.notes[0].startswith(
        "The classes 'c', 'd' have fewer than 3 rows each, 3 rows in all: left out."
    )
    merged = with_rare(table, "merge", 3)
    assert np.unique(merged.y, return_counts=True)[1].tolist() == [6, 5, 3]
    assert merged.notes == (
        "The classes 'c', 'd' have fewer than 3 rows each, 3 rows in all: merged into the class 'other'.",
    )
    assert with_rare(table, "keep", 3) is table
    with pytest.raises(NotThere, match="--rare forget is none of drop, merge, keep"):
        with_rare(table, "forget", 3)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["a"] * 30, "is a in every row"),
        (np.arange(30.0), "a quantity rather than classes"),
        ([f"n{i}" for i in range(30)], "names rather than classes"),
        (["a", "a", "b"], "No class has as many rows as there are folds, 5: pass --cv 2"),
    ],
)
def test_targets_that_are_no_classes(y, words):
    table = Table("t", pd.DataFrame({"a": np.arange(len(y))}), np.asarray(y), "kind")
    with pytest.raises(Unusable) as raised:
        check_target(table, 5)
    assert words in str(raised.value)


def test_a_share_that_cannot_hold_out_every_class():
    y = np.array(["a"] * 20 + ["b"])
    table = Table("t", pd.DataFrame({"x": np.arange(21)}), y, "kind")
    with pytest.raises(Unusable, match=r"\(the class 'b' has 1 row\): use --stopping cv, or --rare drop"):
        check_target(table, None, 0.1)
