import os
import threading
import time

import pytest

from marginpath.parallel import for_all


def test_an_error_stops_the_others_before_it_is_raised():
    begun, stop, ended = threading.Event(), threading.Event(), []

    def task(item):
        if item == 0:
            begun.wait()
            raise ValueError("no")
        begun.set()
        while not stop.is_set():
            time.sleep(0.001)
        ended.append(item)

    with pytest.raises(ValueError, match="no"):
        for_all(task, [0, 1], 2, stop.set)
    assert ended == [1]


def test_the_calling_thread_takes_part_where_nothing_is_to_be_stopped():
    begun, callers = threading.Barrier(2, timeout=30), set()

    def task(item):
        begun.wait()  # two at a time, or never
        callers.add(threading.current_thread())

    for_all(task, range(4), 2)
    assert len(callers) == 2
    assert threading.current_thread() in callers
    callers.clear()
    for_all(task, range(4), 2, lambda: None)
    assert threading.current_thread() not in callers


@pytest.mark.parametrize("fails_here", [True, False])
def test_an_error_leaves_undone_what_had_not_begun(fails_here):
    """And it is raised, an IndexError too, in whichever thread it was met."""
    caller, begun, done = threading.current_thread(), threading.Barrier(2, timeout=30), []

    def task(item):
        if item < 2:
            begun.wait()
            if (threading.current_thread() is caller) == fails_here:
                raise IndexError("no")
            time.sleep(0.2)
        done.append(item)

    with pytest.raises(IndexError, match="no"):
        for_all(task, range(50), 2)
    assert len(done) == 1


def test_tasks_may_share_out_their_own_work():
    found = []
    for_all(lambda i: for_all(lambda j: found.append((i, j)), range(3), 2), range(4), 2)
    assert sorted(found) == [(i, j) for i in range(4) for j in range(3)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own():
    for_all(lambda item: None, range(2), 2)
    child = os.fork()
    if child == 0:
        found: list[int] = []
        for_all(found.append, range(2), 2)
        os._exit(len(found))
    deadline = time.monotonic() + 30
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(child, 9)
    assert os.waitstatus_to_exitcode(ended[1]) == 2
