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
def no_folder_no_proxy(monkeypatch):
    monkeypatch.delenv("MARGINPATH_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def published(*urls, sha256=CHECKSUM, **steps):
    return {"set/file": Source(urls, sha256, **steps)}


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_download_enters_the_cache_and_is_found_there(site, gone, tmp_path, capsys):
    path = find_file("set/file", sources=published(f"{site}/file.txt"), cache=tmp_path)
    assert path == tmp_path / "set" / "file"
    assert path.read_bytes() == CONTENT
    assert files_in(tmp_path) == [path]
    assert "100%" in capsys.readouterr().err
    again = find_file("set/file", sources=published(f"{gone}/file.txt"), cache=tmp_path)
    assert again == path


def test_own_folder_comes_first(site, tmp_path, monkeypatch):
    own, cache = tmp_path / "own", tmp_path / "cache"
    for folder in (own, cache):
        (folder / "set").mkdir(parents=True)
        (folder / "set" / "file").write_text(folder.name)
    monkeypatch.setenv("MARGINPATH_DATA", str(own))
    sources = published(f"{site}/file.txt")
    assert find_file("set/file", sources=sources, cache=cache).read_text() == "own"
    (own / "set" / "file").unlink()
    assert find_file("set/file", sources=sources, cache=cache).read_text() == "cache"


def test_second_address_is_tried(site, gone, tmp_path):
    sources = published(f"{gone}/file.txt", f"{site}/missing", f"{site}/file.txt")
    assert find_file("set/file", sources=sources, cache=tmp_path).read_bytes() == CONTENT


def test_download_is_unpacked_checked_and_converted(site, tmp_path):
    sources = published(f"{site}/file.bz2", unpack=bz2.decompress, convert=libsvm_to_npz)
    with np.load(find_file("set/file", sources=sources, cache=tmp_path)) as file:
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
def test_bad_download_leaves_nothing_behind(site, tmp_path, page, steps, reason):
    url = f"{site}/{page}"
    with pytest.raises(FileNotFoundError, match=f"{url} failed: .*{reason}"):
        find_file("set/file", sources=published(url, **steps), cache=tmp_path)
    assert files_in(tmp_path) == []


def test_error_names_all_three_places(gone, tmp_path, monkeypatch):
    sources = published(f"{gone}/a", f"{gone}/b")
    with pytest.raises(FileNotFoundError, match="MARGINPATH_DATA is not set"):
        find_file("set/file", sources=sources, cache=tmp_path)
    monkeypatch.setenv("MARGINPATH_DATA", str(tmp_path / "own"))
    with pytest.raises(FileNotFoundError) as error:
        find_file("set/file", sources=sources, cache=tmp_path / "cache")
    message = str(error.value)
    assert message.startswith("set/file was not found in any of three places")
    assert f'MARGINPATH_DATA is "{tmp_path / "own"}", without this file' in message
    assert f'The cache folder: "{tmp_path / "cache"}"' in message
    assert f"{gone}/a failed: ConnectionError" in message
    assert f"{gone}/b failed: ConnectionError" in message


def test_cache_that_cannot_be_made_is_named(site, tmp_path):
    (tmp_path / "cache").write_text("a file in the place of a folder")
    with pytest.raises(FileNotFoundError, match="NotADirectoryError"):
        find_file("set/file", sources=published(f"{site}/file.txt"), cache=tmp_path / "cache")


def test_what_was_interrupted_before_its_conversion_is_taken_up(gone, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "file.download").write_bytes(CONTENT)
    sources = published(f"{gone}/file.txt", convert=bytes.upper)
    assert find_file("set/file", sources=sources, cache=tmp_path).read_bytes() == CONTENT.upper()
    assert files_in(tmp_path) == [tmp_path / "set" / "file"]


@pytest.mark.parametrize("package", ["pooch", "tqdm"])
def test_missing_extra_says_what_to_install(monkeypatch, tmp_path, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"Downloads need {package}.*marginpath\[data\].*MARGINPATH_DATA"):
        find_file("a9a/a9a", cache=tmp_path)
    (tmp_path / "a9a").mkdir()
    (tmp_path / "a9a" / "a9a").write_text("own")
    monkeypatch.setenv("MARGINPATH_DATA", str(tmp_path))
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
