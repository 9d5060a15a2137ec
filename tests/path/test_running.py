import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import random_problem

import marginpath as mp

OBSERVED = ["margin", "error", "margin_upper"]


def problem(k=None, n=12, seed=0):
    rng = np.random.default_rng(seed)
    _, K, y = random_problem(seed, n, "kernel")
    Y = y if k is None else rng.permuted(np.repeat(y[:, None], k, axis=1), axis=0)
    return mp.Problem(mp.Gram.from_matrix(K), Y)


def solver(inertial=True):
    return mp.DualDescent(mp.PowerDecay(2.0), mp.Inertia(3) if inertial else None)


def same(a, b):
    """Bit-equal but for the clock."""
    assert a.status == b.status
    for name in set(a.rows) | set(b.rows):
        if name != "seconds":
            np.testing.assert_array_equal(a[name], b[name], strict=True)
    for x, y in zip(a.last.arrays().values(), b.last.arrays().values(), strict=True):
        np.testing.assert_array_equal(x, y, strict=True)
    assert a.last.t == b.last.t


def stop_small_columns(problem, state, path):
    """Column j is done at step 10 (j + 1), the last column never."""
    k = problem.shape[1]
    return (state.t >= 10 * (np.arange(k) + 1)) & (np.arange(k) < k - 1)


@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("inertial", [False, True])
@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("cut", [0, 1, 13, 14, 39])
def test_resume_is_bit_equal(k, inertial, every, cut, tmp_path):
    p, s = problem(k), solver(inertial)
    stop = None if k is None else stop_small_columns
    settings = {"observe": OBSERVED, "every": every, "keep": 4000}
    whole = mp.run(s, p, 40, stop=stop, **settings)
    part = mp.run(s, p, cut, stop=stop, **settings)
    same(mp.resume(part, p, 40 - cut, stop=stop), whole)
    assert part.last.t == cut  # the first path has not changed
    assert part.steps[-1] == cut
    part.save(tmp_path / "path.npz")
    loaded = mp.Path.load(tmp_path / "path.npz")
    same(loaded, part)
    same(mp.resume(loaded, p, 40 - cut, stop=stop), whole)


@given(t=st.integers(0, 60), keep=st.sampled_from([0, 3000, 10**6]), k=st.sampled_from([None, 3]))
def test_any_state_is_kept_or_replayed_exactly(t, keep, k):
    p = problem(k)
    stop = None if k is None else stop_small_columns
    path = mp.run(solver(), p, 60, keep=keep, stop=stop)
    assert sum(s.nbytes for s in path.kept.values()) <= max(keep, path.last.nbytes)
    expected = mp.run(solver(), p, t, stop=stop).last
    np.testing.assert_array_equal(path.state(t, p).u, expected.u, strict=True)
    np.testing.assert_array_equal(path.state(t, p).scores, expected.scores, strict=True)


def test_a_replay_needs_the_problem():
    path = mp.run(solver(), problem(), 20, keep=0)
    with pytest.raises(ValueError, match=r"step 7 was not kept. Pass the problem to replay it from step 0"):
        path.state(7)
    with pytest.raises(ValueError, match=r"steps 0 … 20, not 21"):
        path.state(21)


def test_finished_columns_freeze_and_leave_the_product():
    p = problem(4)
    widths = []

    class Watching(mp.gram.DenseGram):
        def __matmul__(self, V):
            widths.append(V.shape[-1])
            return super().__matmul__(V)

    q = mp.Problem(Watching(p.gram.K), p.Y)
    path = mp.run(solver(), q, 50, stop=stop_small_columns, observe=["margin"])
    assert widths[-50:] == [4] * 10 + [3] * 10 + [2] * 10 + [1] * 20
    assert path.status == ("stopped", "stopped", "stopped", "steps")
    assert path.stop_steps.tolist() == [10, 20, 30, -1]
    free = mp.run(solver(), p, 50)
    for j, t in enumerate([10, 20, 30, 50]):
        np.testing.assert_allclose(path.last.u[:, j], free.state(t).u[:, j], atol=1e-13)
    assert len(set(path["margin"][10:, 0])) == 1


def test_all_columns_done_ends_the_run():
    path = mp.run(solver(), problem(3), 50, stop=lambda p, s, path: np.array([s.t >= 5] * 3))
    assert path.last.t == 5
    assert path.status == ("stopped",) * 3
    assert path.status[0].sentence == "The stopping rule was met."
    longer = mp.resume(path, problem(3), 10)
    assert longer.last.t == 5


def test_certified_margin_stops_when_it_should():
    path = mp.run(
        solver(), problem(), 10**5, stop=mp.CertifiedMargin(1e-3), observe=["margin_lower", "margin_upper"]
    )
    gap = 1 - path["margin_lower"] / path["margin_upper"]
    assert path.status == "stopped"
    assert gap[-1] <= 1e-3 < gap[-2]
    with pytest.raises(ValueError, match="between 0 and 1"):
        mp.CertifiedMargin(0)


def test_observing_every_few_steps():
    path = mp.run(solver(), problem(), 23, observe="margin", every=10)
    assert path.steps.tolist() == [0, 10, 20, 23]
    assert path["margin"].shape == (4,)
    full = mp.run(solver(), problem(), 23, observe="margin")
    np.testing.assert_array_equal(path["margin"], full["margin"][[0, 10, 20, 23]])


def test_observing_names_callables_and_mappings():
    def twice(problem, state):
        return 2 * mp.metrics.margin(problem, state)

    p = problem(2)
    path = mp.run(solver(), p, 3, observe=["margin", twice])
    np.testing.assert_array_equal(path["twice"], 2 * path["margin"])
    path = mp.run(solver(), p, 3, observe={"other": twice})
    assert path["other"].shape == (4, 2)
    with pytest.raises(ValueError, match="'margins' cannot be observed; known are margin"):
        mp.run(solver(), p, 3, observe=["margins"])
    path = mp.run(solver(), p, 3, observe={"other": twice, "m": "margin"})
    assert path["m"].shape == (4, 2)
    with pytest.raises(ValueError, match="name 'twice' is taken"):
        mp.run(solver(), p, 3, observe=[twice, twice])
    with pytest.raises(ValueError, match="name 'step' is taken"):
        mp.run(solver(), p, 3, observe={"step": twice})
    assert repr(path) == "<Path of DualDescent: 3 steps, 2 columns, steps>"
    with pytest.raises(KeyError, match=r"'error' was not observed; this path has seconds, other, m. Pass"):
        path["error"]


def test_callbacks_see_every_recorded_step_and_can_stop():
    seen = []

    def callback(problem, state, path):
        seen.append((state.t, path["margin"][-1]))
        return state.t == 6

    path = mp.run(solver(), problem(), 50, observe="margin", every=2, callbacks=[callback])
    assert [t for t, _ in seen] == [2, 4, 6]
    assert path.status == "callback"
    assert path.last.t == 6


def test_time_limit_and_clock_leave_out_observation():
    def slow(problem, state):
        time.sleep(0.02)
        return 0.0

    path = mp.run(solver(), problem(), 10**6, observe={"slow": slow}, time_limit=0.2)
    assert path.status == "time_limit"
    assert 1 <= path.last.t <= 12
    assert path["seconds"][-1] < 0.02 * path.last.t
    assert np.all(np.diff(path["seconds"]) > 0)


@pytest.fixture
def default_interrupt():
    """Take Ctrl-C as a shell in the foreground gives it; in the background it may be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_interrupt")
def test_ctrl_c_returns_the_path_so_far():
    def press(problem, state, path):
        if state.t == 5:
            signal.raise_signal(signal.SIGINT)

    path = mp.run(solver(), problem(), 50, observe="margin", callbacks=[press])
    assert path.status == "interrupted"
    assert path.last.t == path.steps[-1] == 5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    same(mp.resume(path, problem(), 45), mp.run(solver(), problem(), 50, observe="margin"))


def test_interrupt_inside_a_step_loses_only_that_step():
    class Interrupted(mp.gram.DenseGram):
        left = 10**9

        def __matmul__(self, V):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return super().__matmul__(V)

    gram = Interrupted(problem().gram.K)
    p = mp.Problem(gram, problem().Y)
    p.norm_bounds()
    gram.left = 8  # one product for the start, one for each step
    path = mp.run(solver(), p, 50, observe="margin")
    assert path.status == "interrupted"
    assert path.last.t == path.steps[-1] == 6


@pytest.mark.usefixtures("default_interrupt")
def test_second_ctrl_c_raises():
    def press_twice(problem, state, path):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return False

    path = mp.run(solver(), problem(), 3, callbacks=[press_twice])
    assert path.status == "interrupted"  # both came inside the loop: the second one ended the callback


def test_runs_in_threads():
    found = []
    p = problem()
    threads = [threading.Thread(target=lambda: found.append(mp.run(solver(), p, 100).last.u)) for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(found[0], found[1])


def test_resume_refuses_another_problem():
    path = mp.run(solver(), problem(), 5)
    _, K, y = random_problem(0, 12, "kernel")
    with pytest.raises(ValueError, match="another problem: the labels or weights"):
        mp.resume(path, mp.Problem(mp.Gram.from_matrix(K), -y), 5)
    with pytest.raises(ValueError, match="another problem: the samples or the kernel matrix"):
        mp.resume(path, mp.Problem(mp.Gram.from_matrix(1.001 * K), y), 5)
    with pytest.raises(ValueError, match="another problem: the shape of y"):
        mp.resume(path, problem(1), 5)
    with pytest.raises(ValueError, match="another problem: the dtype"):
        mp.resume(path, mp.Problem(mp.Gram.from_matrix(K.astype(np.float32)), y), 5)


def test_plain_callables_are_passed_again_after_loading(tmp_path):
    def twice(problem, state):
        return 2 * mp.metrics.margin(problem, state)

    s = mp.DualDescent(lambda t: 1 / t)
    path = mp.run(s, problem(), 5, observe=[twice, "margin"])
    path.save(tmp_path / "path.npz")
    with pytest.raises(ValueError, match=r"plain callable .* pass solver=… to load"):
        mp.Path.load(tmp_path / "path.npz")
    loaded = mp.Path.load(tmp_path / "path.npz", solver=s)
    with pytest.raises(ValueError, match=r"pass observe= with margin, twice"):
        mp.resume(loaded, problem(), 5)
    longer = mp.resume(loaded, problem(), 5, observe=[twice, "margin"])
    same(longer, mp.run(s, problem(), 10, observe=[twice, "margin"]))


def test_bad_files_give_one_clear_sentence(tmp_path):
    file = tmp_path / "path.npz"
    mp.run(solver(), problem(), 5).save(file)
    whole = file.read_bytes()
    for content in (b"", b"hello", whole[: len(whole) // 2]):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"path\.npz is not a marginpath file, or it is damaged"):
            mp.Path.load(file)
    np.savez(file, x=np.ones(3))
    with pytest.raises(ValueError, match="not a marginpath file"):
        mp.Path.load(file)
    with pytest.raises(FileNotFoundError):
        mp.Path.load(tmp_path / "none.npz")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "path.npz"
    path = mp.run(solver(), problem(), 5)
    path.save(file)
    before = file.read_bytes()

    def fail(stream, array, **settings):
        stream.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match="disk full"):
        path.save(file)
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["path.npz"]


def test_to_frame():
    single = mp.run(solver(), problem(), 4, observe=OBSERVED).to_frame()
    assert list(single.columns) == ["step", "seconds", *OBSERVED]
    assert len(single) == 5
    path = mp.run(solver(), problem(3), 4, observe=OBSERVED)
    frame = path.to_frame()
    assert list(frame.columns) == ["step", "column", "seconds", *OBSERVED]
    row = frame[(frame["step"] == 2) & (frame["column"] == 1)]
    assert row["margin"].item() == path["margin"][2, 1]


@pytest.mark.parametrize(
    "bad", [{"steps": -1}, {"steps": 2.5}, {"steps": 3, "every": 0}, {"steps": 3, "keep": -1}]
)
def test_bad_counts(bad):
    with pytest.raises(ValueError, match="must be a whole number of at least"):
        mp.run(solver(), problem(), **bad)


def test_zero_steps_is_the_start():
    path = mp.run(solver(), problem(), 0, observe=["margin", "margin_upper"])
    assert path.steps.tolist() == [0]
    assert path["margin"].tolist() == [0.0]
    assert path["margin_upper"] == pytest.approx(1.0)


def test_a_saved_path_has_the_mode_of_other_files(tmp_path):
    problem = mp.Problem(mp.Gram.linear(np.array([[1.0], [-2.0]])), [1, -1])
    path = mp.run(mp.DualDescent(mp.PowerDecay(1.0)), problem, steps=2)
    path.save(tmp_path / "path.npz")
    (tmp_path / "other").touch()
    assert (tmp_path / "path.npz").stat().st_mode == (tmp_path / "other").stat().st_mode
