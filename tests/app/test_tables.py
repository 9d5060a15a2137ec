"""Tables from files: formats, kinds of columns, and what is said about data that cannot be used."""

import gzip

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from marginpath.app.tables import Columns, NotThere, Table, Unusable, check_target, read, remarks

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
    assert Columns.of(table) == Columns(("weight",), ("food",))


def test_semicolons_and_decimal_commas(tmp_path):
    table = read(written(tmp_path, "a;b;kind\n1,5;2,0;x\n2,5;3,25;y\n"), "kind")
    assert table.X["b"].tolist() == [2.0, 3.25]


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
    assert Columns.of(sparse) == Columns(n_sparse=5)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", Unusable, "empty"),
        ("a,kind\n", Unusable, "no rows"),
        ("a,kind\n1,x\n2,y,3\n", Unusable, "Expected 2 fields in line 3, saw 3"),
        ("a,kind\n1,\n2,y\n", Unusable, "1 row has no value in the target column 'kind' (row 1)"),
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
    with pytest.raises(Unusable, match="not text in UTF-8"):
        read(tmp_path / "latin.csv", "kind")
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


def test_which_columns_are_what(frame):
    frame["code"] = [1, 2, 1]
    table = Table("t", frame.drop(columns="kind"))
    assert Columns.of(table, ["code"]) == Columns(("weight",), ("food", "code"))
    with pytest.raises(NotThere, match="'codes'"):
        Columns.of(table, ["codes"])
    frame["when"] = pd.to_datetime(["2020-01-01"] * 3)
    with pytest.raises(Unusable, match=r"'when' hold dates.*--drop when"):
        Columns.of(Table("t", frame))


def test_gaps_are_named_with_the_ways_out(frame):
    frame.loc[[0, 1], "weight"] = np.nan
    frame.loc[2, "food"] = None
    table = Table("t.csv", frame.drop(columns="kind"))
    columns = Columns.of(table)
    with pytest.raises(Unusable) as raised:
        columns.values(table)
    assert str(raised.value) == (
        "t.csv has missing values in weight (2 rows), food (1 row). Fill them with --impute (the median of "
        "numbers, the most frequent category), or leave columns out: --drop weight --drop food"
    )
    prepared = columns.preparation(impute=True).fit_transform(columns.values(table, impute=True))
    assert np.isfinite(prepared).all()


def test_infinity_is_refused(frame):
    frame.loc[1, "weight"] = np.inf
    table = Table("t.csv", frame)
    with pytest.raises(Unusable, match=r"'weight' of t.csv has infinite values \(row 2\)"):
        Columns.of(table).values(table)


def test_text_where_the_fit_had_numbers(frame):
    columns = Columns.of(Table("t", frame))
    other = Table("new.csv", frame.assign(weight=["1", "two", "3"]))
    with pytest.raises(Unusable, match=r"'weight' of new.csv must hold numbers.*'two'"):
        columns.values(other)
    with pytest.raises(Unusable, match="lacks the columns 'food'"):
        columns.values(Table("new.csv", frame.drop(columns="food")))


def test_a_code_reads_the_same_with_a_gap_beside_it():
    whole = Table("t", pd.DataFrame({"code": [1, 2]}))
    holed = Table("t", pd.DataFrame({"code": [1.0, None]}))
    columns = Columns.of(whole, ["code"])
    assert columns.values(whole)["code"][0] == columns.values(holed, impute=True)["code"][0] == "1"


def test_remarks():
    n = 20
    table = Table(
        "t",
        pd.DataFrame(
            {
                "row": np.arange(n),
                "name": [f"n{i}" for i in range(n)],
                "customer_id": np.random.default_rng(0).permutation(n),
                "age": [*map(str, range(n - 1)), "unknown"],
                "flat": [1.0] * n,
                "size": np.linspace(0, 1, n),
                "food": ["hay", "fish"] * (n // 2),
            }
        ),
    )
    table.X.loc[1, "age"] = "0"
    said = remarks(table, Columns.of(table))
    assert [line.split("'")[1] for line in said] == ["row", "customer_id", "flat", "name", "age"]
    assert said[0].endswith("leave it out with --drop row")
    assert said[-1].endswith("--missing unknown")


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["a"] * 30, "is a in every row"),
        (np.arange(30.0), "a quantity rather than classes"),
        ([f"n{i}" for i in range(30)], "names rather than classes"),
        (
            ["a"] * 20 + ["b"] * 3,
            "'b' has 3 rows, fewer than the 5 folds of the cross-validation: pass --cv 3",
        ),
        (["a"] * 20 + ["b"], "'b' has 1 row, fewer than the 5 folds of the cross-validation: collect"),
    ],
)
def test_targets_that_are_no_classes(y, words):
    table = Table("t", pd.DataFrame({"a": np.arange(len(y))}), np.asarray(y), "kind")
    with pytest.raises(Unusable) as raised:
        check_target(table, 5)
    assert words in str(raised.value)
