import sys

import pytest

from marginpath.extras import require

MESSAGE = r'^Pictures need {}, which is not installed: pip install "marginpath\[plot\]"\.$'


def require_pictures(name="pictures.figure", **options):
    return require(name, extra="plot", what="Pictures", **options)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package `pictures` whose module `figure` has the given code."""

    def write(code):
        (tmp_path / "pictures").mkdir()
        (tmp_path / "pictures" / "__init__.py").touch()
        (tmp_path / "pictures" / "figure.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)

    yield write
    for name in ("pictures", "pictures.figure"):
        sys.modules.pop(name, None)


def test_what_is_installed_is_returned(package):
    package("SIZE = 3")
    assert require_pictures().SIZE == 3


def test_what_is_not_installed_is_named_with_its_extra():
    with pytest.raises(ImportError, match=MESSAGE.format("pictures")) as error:
        require_pictures()
    assert error.value.name == "pictures"


def test_the_package_that_is_really_missing_is_named(package):
    package("import brushes.fine")
    with pytest.raises(ImportError, match=MESSAGE.format("brushes")):
        require_pictures()


def test_a_package_that_does_not_load_is_not_called_missing(package):
    package("raise ImportError('libink.so: cannot open')")
    with pytest.raises(ImportError, match=r"need pictures, which does not load \(libink.so: cannot open\)"):
        require_pictures()


def test_a_way_around_and_another_distribution():
    with pytest.raises(ImportError, match=r'"marginpath-lab\[plot\]"\. Read the table\.$'):
        require_pictures(of="marginpath-lab", otherwise="Read the table.")
