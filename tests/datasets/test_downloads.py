import bz2
import functools
import hashlib
import io
import sys
import threading
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pooch
import pytest

from marginpath.datasets.downloads import SOURCES, Source, find_file, libsvm_to_npz, unzip_csv

CONTENT = b"-1 1:0.5 3:2\n+1 2:1\n"
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder; what lies in its folder `cut` is announced whole and sent by half."""

    def log_message(self, *args):
        pass

    def copyfile(self, source, outputfile):
        content = source.read()
        outputfile.write(content[: len(content) // 2] if "/cut/" in self.path else content)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / "cut").mkdir()
    (folder / "file.txt").write_bytes(CONTENT)
    (folder / "cut" / "file.txt").write_bytes(CONTENT)
    (folder / "file.bz2").write_bytes(bz2.compress(CONTENT))
    (folder / "cut" / "file.bz2").write_bytes(bz2.compress(CONTENT))
    handler = functools.partial(Handler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def gone():
    """The address of a server that is not there any more."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        port = server.server_port
    return f"http://127.0.0.1:{port}"


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """The data folder, empty."""
    monkeypatch.setenv("MARGINPATH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "data"


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """The user's cache folder, empty, with no folder named."""
    monkeypatch.delenv("MARGINPATH_DATA")
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    return tmp_path / "cache" / "marginpath"


def published(*urls, sha256=CHECKSUM, **steps):
    return {"set/file": Source(urls, sha256, **steps)}


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_download_enters_the_folder_and_is_found_there(site, gone, folder, capsys):
    path = find_file("set/file", sources=published(f"{site}/file.txt"))
    assert path == folder / "set" / "file"
    assert path.read_bytes() == CONTENT
    assert files_in(folder) == [path]
    assert "100%" in capsys.readouterr().err
    assert find_file("set/file", sources=published(f"{gone}/file.txt")) == path


def test_without_a_folder_the_cache_is_used(site, gone, cache):
    path = find_file("set/file", sources=published(f"{site}/file.txt"))
    assert path == cache / "set" / "file"
    assert find_file("set/file", sources=published(f"{gone}/file.txt")) == path


def test_what_the_folder_holds_is_taken_as_it_is(gone, folder):
    (folder / "set").mkdir(parents=True)
    (folder / "set" / "file").write_text("of another checksum")
    path = find_file("set/file", sources=published(f"{gone}/file.txt"))
    assert path.read_text() == "of another checksum"


def test_second_address_is_tried(site, gone):
    sources = published(f"{gone}/file.txt", f"{site}/missing", f"{site}/file.txt")
    assert find_file("set/file", sources=sources).read_bytes() == CONTENT


def test_download_is_unpacked_checked_and_converted(site):
    sources = published(f"{site}/file.bz2", unpack=bz2.decompress, convert=libsvm_to_npz)
    with np.load(find_file("set/file", sources=sources)) as file:
        np.testing.assert_array_equal(file["y"], [-1, 1])


@pytest.mark.parametrize(
    ("page", "steps", "reason"),
    [
        ("file.txt", {"sha256": "0" * 64}, "SHA256 hash .* expected 0{64} but got [0-9a-f]{64}"),
        ("file.bz2", {}, "SHA256 hash"),
        ("cut/file.txt", {}, "IncompleteRead"),
        ("cut/file.bz2", {"unpack": bz2.decompress}, "IncompleteRead"),
        ("file.txt", {"unpack": bz2.decompress}, "OSError: Invalid data stream"),
        ("file.txt", {"unpack": unzip_csv}, "BadZipFile"),
        ("file.txt", {"convert": bz2.decompress}, "OSError: Invalid data stream"),
        ("missing", {}, "404"),
    ],
)
def test_bad_download_leaves_nothing_behind(site, folder, page, steps, reason):
    url = f"{site}/{page}"
    with pytest.raises(FileNotFoundError, match=f"{url} failed: .*{reason}"):
        find_file("set/file", sources=published(url, **steps))
    assert files_in(folder) == []


def test_error_names_folder_and_addresses(gone, folder):
    with pytest.raises(FileNotFoundError) as error:
        find_file("set/file", sources=published(f"{gone}/a", f"{gone}/b"))
    message = str(error.value)
    assert message.startswith("set/file was not found in either of two places")
    assert f'MARGINPATH_DATA is "{folder}", without this file' in message
    assert f"{gone}/a failed: ConnectionError" in message
    assert f"{gone}/b failed: ConnectionError" in message
    assert message.endswith("Or set MARGINPATH_DATA to a folder that holds set/file.")


def test_error_without_a_folder_names_the_cache(gone, cache):
    with pytest.raises(FileNotFoundError) as error:
        find_file("set/file", sources=published(f"{gone}/a"))
    assert f'MARGINPATH_DATA is not set; the cache folder is "{cache}", without' in str(error.value)


def test_folder_that_cannot_be_made_is_named(site, folder):
    folder.write_text("a file in the place of a folder")
    with pytest.raises(FileNotFoundError, match=f'(?s)"{folder}", without.*NotADirectoryError'):
        find_file("set/file", sources=published(f"{site}/file.txt"))


def test_what_was_interrupted_before_its_conversion_is_taken_up(gone, folder):
    (folder / "set").mkdir(parents=True)
    (folder / "set" / "file.download").write_bytes(CONTENT)
    sources = published(f"{gone}/file.txt", convert=bytes.upper)
    assert find_file("set/file", sources=sources).read_bytes() == CONTENT.upper()
    assert files_in(folder) == [folder / "set" / "file"]


@pytest.mark.parametrize("package", ["pooch", "tqdm"])
def test_missing_extra_says_what_to_install(monkeypatch, folder, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"Downloads need {package}.*marginpath\[data\].*MARGINPATH_DATA"):
        find_file("a9a/a9a")
    (folder / "a9a").mkdir(parents=True)
    (folder / "a9a" / "a9a").write_text("own")
    assert find_file("a9a/a9a").read_text() == "own"


@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("ended", [True, False])
def test_unzipped_table_does_not_depend_on_line_ends(line_end, ended):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("readme.txt", "no table")
        file.writestr("__MACOSX/._table.csv", "no table")
        file.writestr("table.csv", f"1,0{line_end}2,1" + (line_end if ended else ""))
    assert unzip_csv(archive.getvalue()) == b"1,0\n2,1\n"


def test_archive_without_table_is_refused():
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("readme.txt", "no table")
    with pytest.raises(ValueError, match=r"holds 0 \.csv files"):
        unzip_csv(archive.getvalue())


def test_libsvm_text_keeps_values_and_explicit_zeros():
    with np.load(io.BytesIO(libsvm_to_npz(b"1 1:0 4:-0.731854\n-1 2:1e-05\n"))) as file:
        np.testing.assert_array_equal(file["data"], [0.0, -0.731854, 1e-05])
        np.testing.assert_array_equal(file["indices"], [0, 3, 1])
        np.testing.assert_array_equal(file["indptr"], [0, 2, 3])
        np.testing.assert_array_equal(file["shape"], [2, 4])
        np.testing.assert_array_equal(file["y"], [1, -1])


def test_every_published_file_has_safe_addresses_and_a_checksum():
    for name, source in SOURCES.items():
        assert not Path(name).is_absolute()
        assert all(url.startswith("https://") for url in source.urls)
        assert source.urls
        assert len(source.sha256) == 64
