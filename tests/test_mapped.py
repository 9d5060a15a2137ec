"""Arrays in files without a name: made, copied from, read ahead, and gone."""

import errno
import mmap
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from marginpath.mapped import MEMORY, Room, in_file, mapped_array, read_ahead


@pytest.fixture
def mapped(rng):
    X = mapped_array((1000, 30), np.float32, "The rows", "")
    X[...] = rng.standard_normal(X.shape)
    return X


def made_in(folder, shape=(10, 3)):
    return mapped_array(shape, np.float64, "The rows", "Take fewer.", folder)


def test_zeros_are_zeros_and_have_no_name(tmp_path):
    X = made_in(tmp_path)
    assert (X.shape, X.dtype, X.any()) == ((10, 3), np.float64, False)
    X[9, 2] = 5
    assert X.sum() == 5
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not psutil.LINUX, reason="asks /proc")
def test_the_file_is_gone_with_the_last_view(tmp_path):
    def files():
        with open("/proc/self/maps") as lines:
            return sum(str(tmp_path) in line for line in lines)

    X = made_in(tmp_path)
    view = np.asarray(X)[2:]
    del X
    assert files() == 1
    del view
    assert files() == 0


def test_a_disk_without_room_is_told_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=239))
    with pytest.raises(
        OSError, match=r"^The rows takes 2\.4e-07 GB, and .* has 2\.39e-07 GB left. Take fewer\."
    ):
        made_in(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not psutil.LINUX, reason="other systems reserve nothing")
@pytest.mark.parametrize(
    ("number", "fails"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EINVAL, False)]
)
def test_what_the_system_says_when_asked_to_reserve_counts(number, fails, tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError(number, "refused")

    monkeypatch.setattr("os.posix_fallocate", refuse)
    if fails:
        with pytest.raises(OSError, match="The rows takes"):
            made_in(tmp_path)
    else:  # a disk that cannot reserve
        assert made_in(tmp_path).shape == (10, 3)


@pytest.mark.parametrize("room", [MEMORY, Room(most=5000)])
def test_rows_are_those_of_the_array(room, mapped, rng, monkeypatch):
    monkeypatch.setattr("marginpath.mapped._AT_ONCE", 500)
    for index in (rng.permutation(1000)[:300], rng.integers(0, 1000, 70), np.empty(0, dtype=int)):
        for X in (mapped, np.array(mapped)):
            np.testing.assert_array_equal(room.rows(X, index), X[index])
    assert in_file(room.rows(mapped, np.arange(300))) is (room is not MEMORY)
    assert not in_file(room.rows(mapped, np.arange(20)))


@pytest.mark.parametrize("room", [MEMORY, Room(most=5000)])
def test_other_numbers_are_made_where_there_is_room(room, mapped, monkeypatch):
    monkeypatch.setattr("marginpath.mapped._AT_ONCE", 500)
    double = room.cast(mapped, np.float64)
    np.testing.assert_array_equal(double, np.array(mapped, dtype=np.float64))
    assert in_file(double) is (room is not MEMORY)
    assert np.shares_memory(room.cast(mapped, np.float32), mapped)


def test_what_is_read_ahead_is_what_is_asked_for(mapped, monkeypatch):
    pieces = []
    mapping = SimpleNamespace(madvise=lambda advice, start, size: pieces.append((start, size)))
    monkeypatch.setattr("marginpath.mapped._mapping", lambda array: mapping)
    monkeypatch.setattr("numpy.frombuffer", lambda *args, **settings: mapped)
    monkeypatch.setattr("marginpath.mapped._NEAR", 240)  # two rows
    read_ahead(mapped, np.array([0, 1, 4, 8, 999]))
    last = 999 * 120 // mmap.PAGESIZE * mmap.PAGESIZE
    assert pieces == [(0, 600), (0, 1080), (last, 120_000 - last)]


def test_reading_ahead_changes_nothing(mapped, tmp_path):
    np.save(tmp_path / "X.npy", mapped)
    for X in (mapped, np.array(mapped), np.load(tmp_path / "X.npy", mmap_mode="r")[100:]):
        before = np.array(X)
        read_ahead(X, np.array([0, 5, len(X) - 1]))
        read_ahead(X, np.empty(0, dtype=int))
        np.testing.assert_array_equal(X, before)
