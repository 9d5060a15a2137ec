from types import SimpleNamespace

import pytest

from marginpath.gram import memory
from marginpath.gram.memory import available_memory, container_rooms

NAMES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}


@pytest.fixture
def groups(tmp_path):
    """Write the files of groups with limits; return where they are, for a process in the group `path`."""

    def write(version, path, **limits):
        membership = tmp_path / "membership"
        membership.write_text(f"9:cpu:/\n4:memory:{path}\n" if version == 1 else f"0::{path}\n")
        for group, (limit, use, files) in limits.items():
            folder = tmp_path / "root" / ("memory" if version == 1 else "") / group.replace("top", "")
            folder.mkdir(parents=True, exist_ok=True)
            for name, value in zip(NAMES[version], (limit, use), strict=False):
                (folder / name).write_text(f"{value}\n")
            (folder / "memory.stat").write_text(f"anon 1\n{NAMES[version][2]} {files}\n")
        return tmp_path / "root", membership

    return write


@pytest.mark.parametrize("version", [1, 2])
def test_room_is_the_limit_less_what_cannot_be_given_back(groups, version):
    assert container_rooms(*groups(version, "/", top=(1000, 700, 100))) == [400]


@pytest.mark.parametrize("version", [1, 2])
def test_a_container_sees_its_own_group_as_the_top(groups, version):
    assert container_rooms(*groups(version, "/docker/0123", top=(1000, 700, 0))) == [300]


@pytest.mark.parametrize("version", [1, 2])
def test_the_group_and_those_around_it_count(groups, version):
    rooms = container_rooms(*groups(version, "/job/task", **{"job": (900, 850, 0), "job/task": (500, 0, 0)}))
    assert sorted(rooms) == [50, 500]


def test_no_limit_and_no_groups_leave_the_memory_of_the_machine(groups, tmp_path):
    assert container_rooms(*groups(2, "/", top=("max", 700, 0))) == []
    assert container_rooms(tmp_path / "none", tmp_path / "none") == []


def test_more_use_than_the_limit_leaves_nothing(groups):
    assert container_rooms(*groups(2, "/", top=(1000, 1200, 0))) == [0]


@pytest.mark.parametrize(("rooms", "expected"), [([], 800), ([5000], 800), ([5000, 300], 300)])
def test_the_smaller_of_machine_and_container_is_available(monkeypatch, rooms, expected):
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: SimpleNamespace(available=800))
    monkeypatch.setattr(memory, "container_rooms", lambda: rooms)
    memory._available_in.cache_clear()
    assert available_memory() == expected
    memory._available_in.cache_clear()


def test_an_answer_holds_for_a_moment_and_no_longer(monkeypatch):
    asked, now = [], [5.0]
    monkeypatch.setattr(memory, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(
        memory.psutil, "virtual_memory", lambda: asked.append(1) or SimpleNamespace(available=len(asked))
    )
    monkeypatch.setattr(memory, "container_rooms", list)
    memory._available_in.cache_clear()
    assert [available_memory(), available_memory()] == [1, 1]
    now[0] += 0.2
    assert available_memory() == 2
    memory._available_in.cache_clear()
