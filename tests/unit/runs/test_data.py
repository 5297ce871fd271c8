"""Data come whole or not at all: from a real server that cuts connections, changes files and sends hostile archives."""

import hashlib
import io
import json
import os
import socket
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from hackathon.cli.main import run
from hackathon.config.recipe import Data
from hackathon.jobs.data import missing, variables
from hackathon.jobs.request import Options
from hackathon.jobs.sources import find_sources
from hackathon.runs import data
from hackathon.runs.campaign import plan
from hackathon.runs.source.snapshot import take
from hackathon.text.errors import RequestError, UnavailableError

CONTENT = bytes(range(256)) * 4000


class Server(ThreadingHTTPServer):
    """Serves `files`; `cut` holds after how many bytes the next answers end, `seen` the ranges that were asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {"/big.bin": CONTENT}
        self.cut: list[int] = []
        self.seen: list[str | None] = []
        self.ranges = True

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.seen.append(asked)
        body = self.server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        start = 0
        if asked and self.server.ranges:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        end = start + self.server.cut.pop(0) if self.server.cut else len(body)
        self.wfile.write(body[start:end])
        self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _tar(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def test_fetched_once_and_checked(server: Server, tmp_path: Path) -> None:
    entry = Data("big.bin", server.url("big.bin"), _sum(CONTENT).upper())
    told: list[tuple[int, int | None]] = []
    assert data.fetch(entry, tmp_path, lambda done, total: told.append((done, total)))
    assert (tmp_path / "big.bin").read_bytes() == CONTENT and told[-1] == (len(CONTENT), len(CONTENT))
    assert (tmp_path / ".gitignore").read_text() == "*\n"
    assert not data.fetch(entry, tmp_path) and len(server.seen) == 1
    assert data.problems(entry, tmp_path) == [] and data.size(entry, tmp_path) == len(CONTENT)
    (tmp_path / "big.bin").write_bytes(CONTENT[:-1] + b"x")
    assert data.problems(entry, tmp_path) == [("data.file_changed", "big.bin")]
    (tmp_path / "big.bin").unlink()
    assert data.problems(entry, tmp_path) == [("data.is_missing", "big.bin")]
    assert data.fetch(entry, tmp_path)


def test_a_cut_connection_is_gone_on_with(server: Server, tmp_path: Path) -> None:
    entry = Data("big.bin", server.url("big.bin"), _sum(CONTENT))
    server.cut = [300_000, 500_000]
    assert data.fetch(entry, tmp_path)
    assert server.seen == [None, "bytes=300000-", "bytes=800000-"]
    assert (tmp_path / "big.bin").read_bytes() == CONTENT


def test_what_is_here_is_kept_until_the_next_call(server: Server, tmp_path: Path) -> None:
    entry = Data("big.bin", server.url("big.bin"), _sum(CONTENT))
    server.cut = [100_000, 0, 0]
    with pytest.raises(UnavailableError) as caught:
        data.fetch(entry, tmp_path)
    assert caught.value.exit_code == 3 and "100.0 kB" in caught.value.message
    assert not (tmp_path / "big.bin").exists() and missing(tmp_path, [{"name": "big.bin"}]) == ["big.bin"]
    server.cut = []
    assert data.fetch(entry, tmp_path)
    assert server.seen[-1] == "bytes=100000-" and (tmp_path / "big.bin").read_bytes() == CONTENT


def test_another_address_begins_anew(server: Server, tmp_path: Path) -> None:
    other = bytes(reversed(CONTENT))
    server.files |= {"/right.bin": other, "/big.bin.more": CONTENT}
    for name in ("big.bin", "big.bin.more"):
        server.cut = [100_000, 0, 0]
        with pytest.raises(UnavailableError):
            data.fetch(Data(name, server.url(name)), tmp_path)
    (tmp_path / ".hackathon" / "big.bin.part").write_bytes(CONTENT[:9])  # of an older toolkit, which kept no address
    server.cut, server.seen = [], []
    assert data.fetch(Data("big.bin", server.url("right.bin")), tmp_path)
    assert server.seen == [None] and (tmp_path / "big.bin").read_bytes() == other
    (left,) = (tmp_path / ".hackathon").glob("*.part")
    assert left.name.startswith("big.bin.more."), "what was begun of this one is of no use, the other one's is"
    assert data.fetch(Data("big.bin.more", server.url("big.bin.more")), tmp_path)
    assert server.seen[-1] == "bytes=100000-" and (tmp_path / "big.bin.more").read_bytes() == CONTENT


def test_a_server_without_ranges_sends_all_again(server: Server, tmp_path: Path) -> None:
    server.ranges, server.cut = False, [100_000]
    assert data.fetch(Data("big.bin", server.url("big.bin"), _sum(CONTENT)), tmp_path)
    assert (tmp_path / "big.bin").read_bytes() == CONTENT


def test_a_longer_rest_of_another_file_is_dropped(server: Server, tmp_path: Path) -> None:
    server.files["/small"] = b"small"
    server.cut = [2, 0, 0]
    with pytest.raises(UnavailableError):
        data.fetch(Data("small", server.url("small"), _sum(b"small")), tmp_path)
    (begun,) = (tmp_path / ".hackathon").glob("small.*.part")
    begun.write_bytes(b"x" * 99)
    server.cut, server.seen = [], []
    assert data.fetch(Data("small", server.url("small"), _sum(b"small")), tmp_path)
    assert server.seen == ["bytes=99-", None] and (tmp_path / "small").read_bytes() == b"small"


def test_a_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        data.fetch(Data("big.bin", server.url("big.bin"), "0" * 64), tmp_path)
    assert _sum(CONTENT) in caught.value.message and caught.value.exit_code == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".gitignore", ".hackathon"]


def test_no_such_file_and_no_server(server: Server, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="404"):
        data.fetch(Data("a", server.url("nowhere")), tmp_path)
    with pytest.raises(RequestError, match="No such file"):
        data.fetch(Data("a", f"file://{tmp_path}/nowhere"), tmp_path)
    with socket.socket() as nobody:  # a port that is taken, and where nobody listens
        nobody.bind(("127.0.0.1", 0))
        with pytest.raises(UnavailableError, match="refused"):
            data.fetch(Data("a", f"http://127.0.0.1:{nobody.getsockname()[1]}/a"), tmp_path)


@pytest.fixture(params=["filter", "no filter"] if hasattr(tarfile, "data_filter") else ["no filter"])
def filtered(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Try with this Python's filter of tar files, and as in one before 3.11.4, which has none."""
    if request.param == "no filter":
        for name in ("data_filter", "FilterError"):
            monkeypatch.delattr(tarfile, name, raising=False)


@pytest.mark.usefixtures("filtered")
def test_archives_become_folders(server: Server, tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as pack:
        pack.writestr("train/1.txt", "one")
    server.files |= {"/a.tgz": _tar(train__1=b"one", readme=b"two"), "/a.zip": stream.getvalue()}
    tar, pack_ = Data("tar", server.url("a.tgz"), unpack="tar"), Data("zip", server.url("a.zip"), unpack="zip")
    assert data.fetch(tar, tmp_path) and data.fetch(pack_, tmp_path)
    assert (tmp_path / "tar/train/1").read_text() == "one" and (tmp_path / "zip/train/1.txt").read_text() == "one"
    (tmp_path / "tar/readme").unlink()
    assert data.problems(tar, tmp_path) == [("data.file_missing", "tar/readme")]
    changed = Data("tar", server.url("a.tgz"), unpack="none")
    assert missing(tmp_path, [{"name": "tar", "url": changed.url, "sha256": None, "unpack": "none"}]) == ["tar"]


def _link(name: str, target: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        tar.addfile(entry)
        inside = tarfile.TarInfo(f"{name}/evil")
        tar.addfile(inside)
    return stream.getvalue()


@pytest.mark.usefixtures("filtered")
@pytest.mark.parametrize(
    "kind", ["parent", "absolute", "link", "zip", "zip absolute", "zip damaged", "no archive", "cut off"]
)
def test_hostile_archives_write_nothing_outside(kind: str, server: Server, tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as pack:
        pack.writestr("/evil" if kind == "zip absolute" else "a/../../../evil", "x")
    damaged = io.BytesIO()
    with zipfile.ZipFile(damaged, "w", zipfile.ZIP_DEFLATED) as pack:
        pack.writestr("a", os.urandom(500) + bytes(5000))
    broken = bytearray(damaged.getvalue())
    broken[40:80] = b"\xff" * 40
    body = {
        "parent": _tar(**{"..__..__evil": b"x"}), "absolute": _link("a", "/"), "link": _link("a", "../.."),
        "zip": stream.getvalue(), "zip absolute": stream.getvalue(),
        "zip damaged": bytes(broken), "no archive": b"<html>",
        "cut off": _tar(a=os.urandom(9999))[:-3000],
    }[kind]  # fmt: skip
    server.files["/x"] = body
    folder = tmp_path / "project" / "data"
    with pytest.raises(RequestError) as caught:
        data.fetch(Data("x", server.url("x"), unpack="zip" if "zip" in kind else "tar"), folder)
    assert caught.value.hint
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} - {"project", "project/data"}
    begun = {name for name in names if name.startswith("project/data/.hackathon/x.") and name.endswith(".part")}
    assert len(begun) == 1 and names - begun == {"project/data/.gitignore", "project/data/.hackathon"}


def test_a_full_disk_says_so(server: Server, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a small tmpfs needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", disk], capture_output=True)
    if done.returncode:
        pytest.skip("a small tmpfs can not be mounted here")
    try:
        with pytest.raises(UnavailableError) as caught:
            data.fetch(Data("big.bin", server.url("big.bin")), disk)
        assert caught.value.id == "data.no_room" and "1.0 MB" in caught.value.message
        server.files["/a"] = _tar(zeros=bytes(500_000))
        with pytest.raises(UnavailableError) as caught:
            data.fetch(Data("a", server.url("a"), unpack="tar"), disk)
        assert caught.value.id == "data.no_room"
        assert not (disk / "a").exists() and not (disk / "big.bin").exists()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@pytest.fixture
def project(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cluster = {"name": "far", "scheduler": "slurm", "node": {"cores": 2}, "processes_per_node": 1, "starter": "srun"}
    wanted = {"name": "big.bin", "url": server.url("big.bin"), "sha256": _sum(CONTENT), "stage": True}
    made = {"name": "mine", "command": "python train.py", "cluster": "far", "data": [wanted]}
    (tmp_path / "templates" / "clusters").mkdir(parents=True)
    (tmp_path / "templates" / "clusters" / "far.yaml").write_text(yaml.safe_dump(cluster))
    (tmp_path / "project.yaml").write_text(yaml.safe_dump(made))
    (tmp_path / "train.py").write_text("print('hello')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_command_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--walltime", "600s"]) == 2
    assert "hackathon data fetch" in capsys.readouterr().err
    assert run(["data", "check"]) == 1
    assert run(["data", "stage"]) == 1
    assert run(["data", "fetch"]) == 0
    assert "fetched, 1.0 MB" in capsys.readouterr().out
    assert run(["data", "fetch"]) == 0 and run(["data", "check"]) == 0 and run(["data", "stage"]) == 0
    assert run(["check", "--walltime", "600s"]) == 0
    assert run(["data", "stage", "--to", str(project / "disk")]) == 0
    assert (project / "disk" / "big.bin").read_bytes() == CONTENT
    capsys.readouterr()
    assert run(["render", "--json", "--walltime", "600s"]) == 0
    output = capsys.readouterr().out
    request = json.loads(output)["request"]
    assert request["variables"]["HK_STAGE"] == "big.bin" and request["variables"]["HK_DATA"] == str(project / "data")
    planned = plan(find_sources(None, Options(walltime=600)), preflight=True)
    assert planned.preflight is not None and planned.jobs[0].request.variables["HK_STAGE"] == "big.bin"
    staged = planned.preflight.request.variables
    assert "HK_STAGE" not in staged and staged["HK_DATA"] == str(project / "data"), "it has seconds, not minutes"


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_staging_that_is_interrupted_leaves_nothing(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, disk = tmp_path / "data", tmp_path / "disk"
    whole = folder / "it" / "a.bin" if kind == "folder" else folder / "it"
    whole.parent.mkdir(parents=True)
    whole.write_bytes(CONTENT)

    def cut(source: Path, target: Path, **options: Any) -> None:
        if source.is_dir():
            target.mkdir()
            target /= "a.bin"
        target.write_bytes(CONTENT[:1000])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        for name in ("copy2", "copytree"):
            patched.setattr(data.shutil, name, cut)
        with pytest.raises(KeyboardInterrupt):
            data.stage([Data("it", "file:///it")], folder, disk, print)
    assert list(disk.iterdir()) == []
    data.stage([Data("it", "file:///it")], folder, disk, print)
    assert [each.name for each in disk.iterdir()] == ["it"]


def test_data_are_no_part_of_the_source(project: Path) -> None:
    assert run(["data", "fetch"]) == 0
    assert not [name for name in take(project).files if name.startswith("data/")]


def test_names_of_folders_reach_the_shell_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / 'a "b" $(touch x) `y` \\'
    text = variables([{"name": "n", "stage": False}], folder)["HK_DATA"]
    done = subprocess.run(["bash", "-c", f'printf %s "{text}"'], capture_output=True, text=True, check=True)
    assert done.stdout == str(folder)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [("name", "../up", "not a valid name for data"), ("url", "ftp://a/b", "not a URL"),
     ("url", "file:here", "not a URL"),
     ("sha256", "12", "64 hexadecimal"), ("unpack", "rar", "unpack")],
)  # fmt: skip
def test_what_is_wrong_is_named(field: str, value: str, words: str, project: Path,
                                capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    read = yaml.safe_load((project / "project.yaml").read_text())
    read["data"][0][field] = value
    (project / "project.yaml").write_text(yaml.safe_dump(read))
    assert run(["data", "fetch"]) == 2
    assert words in capsys.readouterr().err
