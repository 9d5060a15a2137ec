"""Where the files of real data sets are found: the data folder, the web."""

import bz2
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..extras import require

__all__ = ["SOURCES", "Source", "find_file", "own_file"]

FOLDER_VARIABLE = "MARGINPATH_DATA"

# What a broken connection, file or archive raises; requests' own errors are OSErrors.
_FAILURES = (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error)


def _unchanged(content: bytes) -> bytes:
    return content


@dataclass(frozen=True)
class Source:
    """Where one file is published, and how a download becomes that file.

    Parameters
    ----------
    urls : tuple of str
        Addresses, tried in this order.
    sha256 : str
        Checksum of the unpacked content, in hexadecimal digits.
    unpack : callable, bytes to bytes
        Takes the content out of its archive, before the checksum.
    convert : callable, bytes to bytes
        Brings the content into the form of the file, after the checksum.

    Examples
    --------
    >>> Source(("https://example.org/a9a",), sha256="f5d5ffd8").urls
    ('https://example.org/a9a',)
    """

    urls: tuple[str, ...]
    sha256: str
    unpack: Callable[[bytes], bytes] = _unchanged
    convert: Callable[[bytes], bytes] = _unchanged


def unzip_csv(archive: bytes) -> bytes:
    r"""Return the only .csv file of a zip archive, with every line ended by a line feed.

    Copies of one table differ in their line ends; without that difference they share a checksum.

    Examples
    --------
    >>> archive = io.BytesIO()
    >>> with zipfile.ZipFile(archive, "w") as file:
    ...     file.writestr("folder/table.csv", "1,0\r2,1")
    >>> unzip_csv(archive.getvalue())
    b'1,0\n2,1\n'
    """
    with zipfile.ZipFile(io.BytesIO(archive)) as members:
        # macOS archives hold a shadow "__MACOSX/._name" of every file.
        tables = [
            name for name in members.namelist() if name.endswith(".csv") and not name.startswith("__MACOSX/")
        ]
        if len(tables) != 1:
            raise ValueError(f"the archive holds {len(tables)} .csv files, one is needed")
        return b"".join(line + b"\n" for line in members.read(tables[0]).splitlines())


def libsvm_to_npz(text: bytes) -> bytes:
    r"""Convert LIBSVM text into an .npz file with `data`, `indices`, `indptr`, `shape` and `y`.

    Examples
    --------
    >>> with np.load(io.BytesIO(libsvm_to_npz(b"-1 1:0.5 3:2\n+1 2:1\n"))) as file:
    ...     print(file["shape"], file["indices"], file["data"], file["y"])
    [2 3] [0 2 1] [0.5 2. 1. ] [-1 1]
    """
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(text), zero_based=False)
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    file = io.BytesIO()
    np.savez_compressed(file, **parts, y=y.astype(np.int8))
    return file.getvalue()


def _mnist(name: str, sha256: str) -> Source:
    mirrors = (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    )
    return Source(tuple(mirror + name for mirror in mirrors), sha256)


_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"

#: Every file that the loaders read, by its path inside a data folder.
SOURCES: Mapping[str, Source] = {
    "mnist/train-images-idx3-ubyte.gz": _mnist(
        "train-images-idx3-ubyte.gz",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    "mnist/train-labels-idx1-ubyte.gz": _mnist(
        "train-labels-idx1-ubyte.gz",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    "mnist/t10k-images-idx3-ubyte.gz": _mnist(
        "t10k-images-idx3-ubyte.gz",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    "mnist/t10k-labels-idx1-ubyte.gz": _mnist(
        "t10k-labels-idx1-ubyte.gz",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
    "htru2/HTRU_2.csv": Source(
        ("https://archive.ics.uci.edu/static/public/372/htru2.zip",),
        "b2b388ceaa9718d00f6feba97bfe7096ee61996526cee2bea94e9dd034e9cbbe",
        unpack=unzip_csv,
    ),
    "a9a/a9a": Source(
        (_LIBSVM + "a9a",),
        "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
    ),
    "a9a/a9a.t": Source(
        (_LIBSVM + "a9a.t",),
        "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
    ),
    "ijcnn1/ijcnn1.npz": Source(
        (_LIBSVM + "ijcnn1.bz2",),
        "16506cad788cf7c9607454150ed1994788204bac2ff4c9cb3b320036b6950d3f",
        unpack=bz2.decompress,
        convert=libsvm_to_npz,
    ),
}


def own_file(name: str) -> Path | None:
    """Return a file of the folder that MARGINPATH_DATA names, or None where it has no such file.

    Examples
    --------
    >>> own_file("no/such/file") is None
    True
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder).expanduser() / name if folder else None
    return path if path is not None and path.is_file() else None


def find_file(name: str, *, sources: Mapping[str, Source] = SOURCES) -> Path:
    """Return the path of a data file, downloaded into the data folder if it is not there.

    The data folder is the one that the environment variable MARGINPATH_DATA names, or else the user's cache
    folder for marginpath. A file that MARGINPATH_DATA holds is taken as it is, and only a download whose
    checksum is right enters the folder. All but reading from MARGINPATH_DATA needs the extra `data`.

    Parameters
    ----------
    name : str
        Path of the file inside a data folder, a key of `sources`.
    sources : mapping from str to Source
        Where each file is published.

    Returns
    -------
    Path
        A file that exists.

    Raises
    ------
    FileNotFoundError
        If neither the folder nor an address has the file; the message tells what happened at each.

    Examples
    --------
    >>> find_file("a9a/a9a")  # doctest: +SKIP
    PosixPath('.../a9a/a9a')
    """
    if (own := own_file(name)) is not None:
        return own
    holding = f"Or set {FOLDER_VARIABLE} to a folder that holds {name}."
    for package in ("tqdm", "pooch"):  # pooch draws its progress bar with tqdm
        pooch = require(package, extra="data", what="Downloads", otherwise=holding)
    store = pooch.create(pooch.os_cache("marginpath"), base_url="", env=FOLDER_VARIABLE)
    if (file := Path(store.path, name)).is_file():
        return file

    failures = []
    for url in sources[name].urls:
        try:
            return _download(pooch, store, name, url, sources[name])
        except _FAILURES as failure:
            failures.append(f"{url} failed: {type(failure).__name__}: {failure}")
    state = "is" if os.environ.get(FOLDER_VARIABLE) else "is not set; the cache folder is"
    raise FileNotFoundError(
        f"{name} was not found in either of two places.\n"
        f'1. The data folder: {FOLDER_VARIABLE} {state} "{store.path}", without this file.\n'
        f"2. The web: {'; '.join(failures)}.\n"
        f"Try again when the address can be reached. {holding}"
    )


def _download(pooch: Any, store: Any, name: str, url: str, source: Source) -> Path:
    """Fetch one file, unpack, check and convert it; it appears in the store whole or not at all."""

    def fetch(url: str, file: str, store: Any) -> None:
        pooch.HTTPDownloader(progressbar=True, chunk_size=2**16)(url, file, store)
        Path(file).write_bytes(source.unpack(Path(file).read_bytes()))

    def convert(file: str, action: str, store: Any) -> str:
        download = Path(file)
        try:
            download.write_bytes(source.convert(download.read_bytes()))
            return str(download.replace(store.path / name))
        finally:
            download.unlink(missing_ok=True)

    # pooch compares the checksum between the two, and deletes what has another one. Its own processors
    # unpack only after that; the checksums are those of the content, whatever archive it came in.
    part = f"{name}.download"
    store.registry[part], store.urls[part] = source.sha256, url
    return Path(store.fetch(part, downloader=fetch, processor=convert))
