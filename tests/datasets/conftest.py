"""Real sets where they are found; a publisher on 127.0.0.1, a private cache, and a toy set."""

import functools
import gzip
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from edgewise import datasets
from edgewise.datasets import catalog, files
from edgewise.datasets.catalog import Entry

TRAIN = b"0.5,1.5,0\n2.5,3.5,1\n4.5,5.5,1\n"
TEST = b"6.5,7.5,0\n8.5,9.5,1\n"


@pytest.fixture
def real(request: pytest.FixtureRequest) -> datasets.Dataset:
    """Load the real set of the given name where it is on this machine; never download it."""
    name = request.param
    if datasets.info(name).n_categorical:
        pytest.importorskip("pandas")
    if not datasets.available(name):
        pytest.skip(f"no copy of {name}: set EDGEWISE_DATA to a folder that has it")
    return load_once(name)


def one(name: str) -> pytest.MarkDecorator:
    """Return a mark for a test of one real set."""
    return pytest.mark.parametrize("real", [name], indirect=True)


@functools.cache
def load_once(name: str) -> datasets.Dataset:
    return datasets.load(name, download=False)


@dataclass
class Publisher:
    """The files that a test serves, and the requests it got."""

    address: str
    pages: dict[str, bytes] = field(default_factory=dict)
    cut_short: bool = False
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requests.append(self.path)
            body = site.pages.get(self.path)
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if site.cut_short else body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Publisher(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    with server:
        yield site
        server.shutdown()
    thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Send pooch's cache to a private folder, and forget the environment's data folder."""
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("EDGEWISE_DATA", raising=False)
    # A proxy of the environment must not stand between the tests and 127.0.0.1.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    monkeypatch.setattr(files, "_RETRIES", 0)
    return tmp_path / "cache" / "edgewise"


@pytest.fixture
def toy(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """Register a data set 'toy' of three and two rows, published as one .gz and one plain file."""
    publisher.pages.update({"/train.data.gz": gzip.compress(TRAIN), "/test.data.gz": TEST})
    text = f"""
        [toy]
        kind = "classification"
        title = "Toy"
        description = "Five points."
        citation = "A. Nonymous."
        license = "CC0"
        source = "{publisher.address}"
        addresses = ["{publisher.address}/{{name}}.gz"]
        format = "table"
        n_train = 3
        n_test = 2
        n_features = 2
        classes = ["no", "yes"]
        columns = ["a", "b"]
        [toy.files.train]
        "toy/train.data" = "{hashlib.sha256(TRAIN).hexdigest()}"
        [toy.files.test]
        "toy/test.data" = "{hashlib.sha256(TEST).hexdigest()}"
    """
    entry = catalog.parse(text)["toy"]
    monkeypatch.setitem(catalog.entries(), "toy", entry)
    return entry
