"""The command bench: every benchmark on small data, and what it refuses."""

import gzip
import json
import struct

import numpy as np
import pytest
from marginpath_lab import bench
from marginpath_lab.bench import data as sets
from marginpath_lab.bench import dense, peers, scaling
from marginpath_lab.bench.measure import Benchmark, Contestant, Task
from marginpath_lab.bench.ours import LinearClassifier
from scipy.sparse import random_array
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import marginpath as mp
from marginpath.app import cli

pytestmark = pytest.mark.usefixtures("no_collection")


def test_the_linear_contestant_is_the_estimator_with_its_defaults(folder):
    data = sets.newsgroups()
    ours = LinearClassifier()
    model = ours(data)
    assert model.get_params() == mp.LinearMarginPathClassifier(random_state=0).get_params()
    assert ours.judge(model, data)["test error"] < 0.3
    assert model.coef_.shape[0] == len(np.unique(data.y))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a data folder with a few samples of each set, drawn at random, and point the loaders at it."""
    path, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    write_mnist(path / "mnist", rng)
    y = np.repeat([0, 1], 60)
    (path / "htru2").mkdir()
    np.savetxt(path / "htru2" / "HTRU_2.csv", np.c_[rng.normal(y[:, None], 1, (120, 8)), y], delimiter=",")
    (path / "a9a").mkdir()
    for name in ("a9a", "a9a.t"):
        X = (rng.random((120, 123)) < 0.1 + 0.1 * y[:, None]).astype(float)
        dump_svmlight_file(X, 2 * y - 1, str(path / "a9a" / name), zero_based=False)
    write_ijcnn1(path / "ijcnn1", rng)
    write_newsgroups(path / "20news", rng)
    (path / "more").mkdir()
    y = np.repeat([0, 1, 2], 50)
    np.savez(path / "more" / "vehicle.npz", X=rng.normal(2 * y[:, None], 1, (150, 4)), y=y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MARGINPATH_DATA", str(path))
        yield path


def write_mnist(path, rng):
    path.mkdir()
    centres = rng.integers(0, 200, (10, 784))
    for part, n in (("train", 300), ("t10k", 50)):
        labels = np.arange(n) % 10
        pixels = np.clip(centres[labels] + rng.integers(0, 56, (n, 784)), 0, 255)
        for kind, values, shape in (("images-idx3", pixels, (n, 28, 28)), ("labels-idx1", labels, (n,))):
            header = struct.pack(f">I{len(shape)}I", 0x800 + len(shape), *shape)
            content = gzip.compress(header + values.astype(np.uint8).tobytes())
            (path / f"{part}-{kind}-ubyte.gz").write_bytes(content)


def write_ijcnn1(path, rng):
    path.mkdir()
    y = np.where(np.arange(400) % 2, 1, -1)
    X = 0.2 * random_array((400, 22), density=0.6, rng=rng, format="lil")
    X[y > 0, :3] = 1  # the classes are two clouds, which a few landmarks tell apart
    X = X.tocsr()
    np.savez(path / "ijcnn1.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)


def write_newsgroups(path, rng):
    path.mkdir()
    arrays = {"names": np.array([f"group {c}" for c in range(20)])}
    for prefix in ("", "test_"):
        y = np.arange(200) % 6
        X = random_array((200, 300), density=0.05, rng=rng, format="lil")
        for row, label in enumerate(y):
            X[row, 10 * label + rng.integers(0, 10, 4)] = 3
        X = X.tocsr()
        arrays |= {f"{prefix}{k}": getattr(X, k) for k in ("data", "indices", "indptr", "shape")}
        arrays[f"{prefix}class20"] = y
    np.savez(path / "20news_counts.npz", **arrays)


@pytest.fixture
def invoke(monkeypatch):
    """Run a command in process, with rivals that start no worker processes."""
    monkeypatch.setattr(peers, "cores", lambda: 1)

    def invoke(*arguments):
        return CliRunner().invoke(cli.build_app(), [str(a) for a in arguments])

    return invoke


SLOW = (
    "accuracy-tuned",
    "dask",
    "dense",
    "digits",
    "landmarks",
    "large",
    "parquet",
    "predict",
    "regression",
    "scaling",
    "tables",
    "tuned",
    "widths",
)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.heavy) if n in SLOW else n for n in bench.NAMES]
)
def test_every_benchmark_runs_quickly(name, invoke, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "_SIDE", 64)
    monkeypatch.delitem(scaling.SETS, "MNIST odd vs even")  # every size of it is another process to start
    ran = invoke("bench", name, "--quick", "--out", tmp_path)
    assert ran.exit_code == 0, ran.output
    for words in ("contestant", "seconds", "× ours", "numpy", "cores"):
        assert words in ran.stdout
    record = json.loads((tmp_path / f"{name}-quick.json").read_text("utf-8"))
    assert record["benchmark"] == name
    assert record["quick"] is True
    assert record["repeats"] == 1
    for entry in record["entries"]:
        assert entry["note"] == "" or entry["note"].startswith(("left out: ", "ended after "))
        assert len(entry["seconds"]) == (0 if entry["note"].startswith("left out: ") else 1)
        assert entry["seconds"] == [] or entry["median_seconds"] == entry["seconds"][0] > 0
        assert entry["target_met"] is None
        # Of a coin that is tossed, or, for targets, of a constant.
        chance = 1.0 if name == "regression" else 0.5
        assert 0 <= entry["facts"].get("test error", 0) < chance
    taken = [entry for entry in record["entries"] if entry["seconds"]]
    assert len(taken) >= (1 if name == "gpu" else 2)  # a GPU is what it is about
    alone = len({entry["contestant"] for entry in taken}) == 1  # no rival is installed
    assert alone or name in ("digits", "scaling", "gpu") or any(entry["ratio"] for entry in taken)


def test_repeats_are_obeyed_and_progress_is_told(invoke, folder, tmp_path):
    ran = invoke("bench", "kernel", "--quick", "--repeats", 2, "--out", tmp_path)
    record = json.loads((tmp_path / "kernel-quick.json").read_text("utf-8"))
    assert {len(entry["seconds"]) for entry in record["entries"]} == {2}
    assert "round 2" in ran.stderr


@pytest.mark.parametrize("arguments", [("nonsense",), ("kernel", "--repeats", "0"), ()])
def test_what_is_unknown_is_refused(invoke, arguments):
    ran = invoke("bench", *arguments)
    assert ran.exit_code == 2
    assert arguments != ("nonsense",) or "hard-margin" in ran.stderr


def test_without_data_nothing_is_written(invoke, monkeypatch, tmp_path):
    def absent(*args, **kwargs):
        raise FileNotFoundError("no such data")

    monkeypatch.setattr(mp.datasets, "load_mnist", absent)
    ran = invoke("bench", "tuned", "--quick", "--out", tmp_path / "results")
    assert ran.exit_code == 1
    assert "no such data" in ran.stderr
    assert list((tmp_path / "results").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_known_at_once(invoke, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(mp.datasets, "load_mnist", pytest.fail)
    ran = invoke("bench", "tuned", "--out", tmp_path / "file" / "folder")
    assert ran.exit_code == 1
    assert "No benchmark" in ran.stderr


def test_a_failure_is_the_exit_code(invoke, monkeypatch, tmp_path):
    def broken(data):
        raise ArithmeticError("wrong")

    task = Task("a task", 1, 0, [Contestant("ours", broken)])
    monkeypatch.setattr(bench, "find", lambda name: Benchmark(name, "question?", lambda quick: [task]))
    ran = invoke("bench", "kernel", "--quick", "--out", tmp_path)
    assert ran.exit_code == 1
    assert "ArithmeticError: wrong" in ran.stdout
