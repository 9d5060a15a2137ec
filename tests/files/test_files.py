"""Files from anyone: they load as what was saved, or end in one sentence, and make nothing but records."""

import builtins
import copy
import functools
import io
import itertools
import json
import os
import pickle
import types
import typing
import zipfile
from dataclasses import dataclass, is_dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginpath as mp
from marginpath import solvers
from marginpath.app.modelfile import Model
from marginpath.app.tables import Table
from marginpath.files import records
from marginpath.files.objects import FORMAT as VERSION
from marginpath.files.objects import load, pack, save, unpack
from marginpath.solvers.base import State

FORMAT = f'"format": {VERSION}'
PLAIN = (
    types.NoneType,
    bool,
    int,
    float,
    str,
    slice,
    np.ndarray,
    np.generic,
    np.dtype,
    sp.csr_array,
    sp.csr_matrix,
)
FOREIGN = [
    *(
        "TypeVar",
        "cached_property",
        "product",
        "eval",
        "object",
        "type",
        "system",
        "typing.TypeVar",
        "os.system",
    ),
    *(
        "marginpath.path.path.Path",
        "marginpath.solvers.base.TypeVar",
        "Path.load",
        "__class__",
        "",
        None,
        3,
        ["Path"],
    ),
]
SENTENCE = "is not a marginpath .*, or it is damaged"


class Stored:
    """A file taken apart, to be put together otherwise."""

    def __init__(self, file, load):
        self.file, self.load = file, load
        with zipfile.ZipFile(file) as stored:
            self.parts = {name: stored.read(name) for name in stored.namelist()}
        self.whole = file.read_bytes()
        raw = np.load(io.BytesIO(self.parts.pop("header.json.npy")))
        self.header = json.loads(raw.tobytes())

    def loaded(self, header=None, **parts):
        """Load the file with another header or other parts; of a text the header is the text."""
        text = header if isinstance(header, str) else json.dumps(self.header if header is None else header)
        members = {"header.json.npy": npy(np.frombuffer(text.encode(), np.uint8)), **self.parts}
        with zipfile.ZipFile(self.file, "w") as stored:
            for name, data in {**members, **{f"{key}.npy": data for key, data in parts.items()}}.items():
                stored.writestr(name, data)
        return self.load(self.file)


def npy(array, **settings):
    stream = io.BytesIO()
    np.save(stream, array, **settings)
    return stream.getvalue()


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = rng.choice(["cat", "dog"], 30)
    X = pd.DataFrame(
        {"weight": np.where(y == "dog", 9.0, 3.0) + rng.normal(size=30), "food": rng.choice(["a", "b"], 30)}
    )
    model = Model.fit(
        Table("a.csv", X, y, "kind"), mp.MarginPathClassifier(stopping=None, max_iter=3, random_state=0)
    )
    file = tmp_path_factory.mktemp("model") / "a.model"
    model.save(file)
    return Stored(file, Model.load)


@pytest.fixture(scope="module")
def path_file(tmp_path_factory):
    data = mp.datasets.toy()
    solver = mp.experimental.Screened(mp.DualDescent(mp.PowerDecay(4.0), mp.Inertia(30)))
    path = mp.run(
        solver,
        mp.Problem(mp.Gram.from_kernel(data.X, mp.Linear()), data.y),
        6,
        observe=["margin", "error"],
        keep=2000,
    )
    file = tmp_path_factory.mktemp("path") / "path.npz"
    path.save(file)
    return Stored(file, mp.Path.load)


@pytest.fixture(params=["path_file", "model_file"])
def stored(request):
    return request.getfixturevalue(request.param)


def places(tree):
    """Return every (container, key) of a JSON value, from the outside in."""
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    return [place for key in keys for place in ((tree, key), *places(tree[key]))]


def named(tree):
    """Return the places of all names of records."""
    return [
        (node, 1)
        for node in (c[k] for c, k in places(tree))
        if isinstance(node, list) and node[:1] in (["record"], ["enum"], ["columns"])
    ]


def assert_made_of_records(value):
    if isinstance(value, type):
        assert issubclass(value, np.generic)
    elif type(value) in (list, tuple):
        for item in value:
            assert_made_of_records(item)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        assert_made_of_records(value.tolist())
    elif not isinstance(value, PLAIN):
        assert type(value) is dict or records.is_registered(type(value)), type(value)
        assert_made_of_records([list(dict.items(value))] if isinstance(value, dict) else [])
        if not isinstance(value, mp.Status):
            inner = {name: x for name, x in getattr(value, "__dict__", {}).items() if name != "observers"}
            assert_made_of_records(list(inner.items()))


def unless_refused(load):
    """Return what was loaded, or None after a ValueError; let any other exception through."""
    try:
        return load()
    except ValueError:
        return None


def test_the_files_as_they_are(path_file, model_file):
    for stored, cls in ((path_file, mp.Path), (model_file, Model)):
        value = stored.loaded()
        assert type(value) is cls
        assert_made_of_records(value)
        assert len(named(stored.header)) > 5


@pytest.mark.parametrize("name", FOREIGN)
def test_no_name_but_those_of_records_makes_anything(stored, name):
    for index in range(len(named(stored.header))):
        header = copy.deepcopy(stored.header)
        container, key = named(header)[index]
        container[key] = name
        with pytest.raises(ValueError, match=SENTENCE) as raised:
            stored.loaded(header)
        assert "no record of marginpath" in str(raised.value.__cause__)


def test_names_of_other_modules_are_no_records():
    for module in (builtins, functools, itertools, os, typing):
        for name, value in vars(module).items():
            assert not isinstance(value, type) or not records.is_registered(value), name


VALUES = st.one_of(
    st.sampled_from(
        [
            None,
            True,
            -1,
            0,
            2**70,
            0.5,
            float("nan"),
            "x",
            "array0",
            "DualDescent",
            "Path",
            "Pipeline",
            [],
            {},
        ]
    ),
    st.sampled_from(
        [["array", "array0"], ["scalar", "array1"], ["dtype", "O"], ["record", "Hinge", {}], ["list", 3]]
    ),
    st.sampled_from(
        [["array", "gone"], ["slice", ["a", "b", "c"]], ["objects", [-1], []], ["columns", "Path", {}]]
    ),
)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_headers_end_in_one_sentence(stored, data):
    header = copy.deepcopy(stored.header)
    for _ in range(data.draw(st.integers(1, 2))):
        container, key = data.draw(st.sampled_from(places(header)))
        if (isinstance(container, dict) and key not in container) or (
            isinstance(container, list) and key >= len(container)
        ):
            continue
        if data.draw(st.booleans()):
            container[key] = copy.deepcopy(data.draw(VALUES))
        else:
            del container[key]
    value = unless_refused(lambda: stored.loaded(header))
    assert type(value) in (mp.Path, Model, type(None))
    assert_made_of_records(value)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_bytes_end_in_one_sentence(path_file, data):
    changed = bytearray(path_file.whole)
    for at in data.draw(st.lists(st.integers(0, len(changed) - 1), min_size=1, max_size=3)):
        changed[at] = data.draw(st.integers(0, 255))
    path_file.file.write_bytes(changed[: data.draw(st.sampled_from([None, None, -1, len(changed) // 3]))])
    assert type(unless_refused(lambda: mp.Path.load(path_file.file))) in (mp.Path, type(None))


@pytest.mark.parametrize(
    "header",
    [
        *("[]", "3", '"x"', "null", "{}", "{", f"{{{FORMAT}}}", f'{{{FORMAT}, "content": null}}'),
        f'{{{FORMAT}, "content": {{"Path": 1}}}}',
        f'{{{FORMAT}, {FORMAT}, "content": []}}',
        "[" * 100_000,
        f'{{{FORMAT}, "content": ' + "[" * 100_000 + "]" * 100_000 + "}",
        f'{{{FORMAT}, "content": ' + '["list", [' * 50_000 + "]]" * 50_000 + "}",
    ],
    ids=lambda header: f"{header[:20]} {len(header)}",
)
def test_odd_headers(stored, header):
    with pytest.raises(ValueError, match=SENTENCE):
        stored.loaded(header)


def declared(shape, dtype):
    """Return an array that says it has another shape and dtype than its bytes have."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue() + b"x" * 64


class Loud:
    """Says so if it is made from a pickle."""

    made = False

    def __reduce__(self):
        return setattr, (Loud, "made", True)


@pytest.mark.parametrize(
    "part",
    [
        *(declared(s, "<f8") for s in [(10**12,), (10**6, 10**6, 10**6), (-1, -8), (2**70,), (10**20, 0)]),
        *(declared((10**12,), dtype) for dtype in ("|V0", "<U0", "|O", "<c16")),
        npy(np.array([Loud(), None], dtype=object), allow_pickle=True),
        pickle.dumps(Loud()),
        b"",
        b"hello",
    ],
    ids=range(13),
)
def test_odd_arrays(stored, part):
    with pytest.raises(ValueError, match=SENTENCE):
        stored.loaded(array0=part)
    assert not Loud.made


def test_headers_are_deflated_up_to_the_share_that_readers_take(tmp_path):
    for record, dense in (({"a": "word " * 20}, True), ({"a": "x" * 10**6}, False)):
        save(tmp_path / "a", record)
        with zipfile.ZipFile(tmp_path / "a") as stored:
            part = stored.getinfo("header.json.npy")
        assert (part.compress_type == zipfile.ZIP_DEFLATED) == dense
        assert load(tmp_path / "a", dict) == record


@pytest.mark.parametrize(
    "array",
    [
        np.arange(100),
        np.arange(-3, 20, dtype=np.int16),
        np.linspace(0, 1, 33),
        np.float32([[0.1, 0.2]]).astype(np.float64).repeat(30, axis=0),
        np.asfortranarray(np.linspace(0, 1, 20).reshape(4, 5)),
    ],
    ids=["narrowed", "short", "doubles", "floats", "columns"],
)
def test_small_arrays_come_back_with_their_type_and_order(array):
    again = unpack(*pack(array))
    assert np.array_equal(again, array)
    assert again.dtype == array.dtype
    assert again.flags.c_contiguous == array.flags.c_contiguous


def test_parts_larger_than_the_file_or_twice_there(stored):
    with zipfile.ZipFile(stored.file, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("header.json.npy", npy(np.zeros(10**7)))
    with pytest.raises(ValueError, match=SENTENCE):
        stored.load(stored.file)
    with zipfile.ZipFile(stored.file, "w") as double:
        double.writestr("header.json.npy", npy(np.zeros(3)))
        with pytest.warns(UserWarning, match="Duplicate"):
            double.writestr("header.json.npy", npy(np.zeros(3)))
    with pytest.raises(ValueError, match=SENTENCE):
        stored.load(stored.file)


def test_indices_of_sparse_rows_stay_inside():
    description, arrays = pack(sp.csr_array(np.eye(3)))
    assert unpack(description, dict(arrays)).shape == (3, 3)
    (key,) = [name for name, array in arrays.items() if array.dtype.kind == "i" and len(array) == 3]
    with pytest.raises(ValueError, match="indices"):
        unpack(description, {**arrays, key: np.array([0, 10**6, 1], dtype=np.int32)})


def test_all_solvers_and_states_are_records():
    exported = [getattr(solvers, name) for name in solvers.__all__]
    for cls in exported:
        runs = is_dataclass(cls) and hasattr(cls, "init") and hasattr(cls, "step")
        if runs or (isinstance(cls, type) and issubclass(cls, State)):
            assert records.is_registered(cls), cls
    for cls in records.registered():
        assert records.class_named(cls.__name__) is cls


def test_a_state_of_one_s_own_is_registered_first(tmp_path):
    @dataclass(frozen=True, kw_only=True)
    class OwnState(State):
        pass

    class Own(mp.DualDescent):
        def init(self, problem, start=None):
            return OwnState(t=0, u=0 * problem.Y, scores=0 * problem.Y, bound=np.float64(1.0))

    path = mp.run(Own(mp.PowerDecay(1.0)), mp.Problem(mp.Gram.linear(np.array([[1.0], [-2.0]])), [1, -1]), 0)
    with pytest.raises(TypeError, match=r"OwnState. For a class of your own use .*register"):
        path.save(tmp_path / "p.npz")
    records.register(OwnState)
    path.save(tmp_path / "p.npz")
    with pytest.raises(ValueError, match="pass solver="):
        mp.Path.load(tmp_path / "p.npz")
    assert type(mp.Path.load(tmp_path / "p.npz", solver=path.solver).last) is OwnState
    other = type("OwnState", (), {})
    with pytest.raises(ValueError, match="another class by the name OwnState"):
        records.register(other)
