"""The dashboard on a machine with other users: another real account neither connects, nor reads the key, nor poses."""

import contextlib
import http.client
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hackathon.board.board import open_board
from hackathon.board.directory import make_place
from hackathon.board.entry import letters
from hackathon.board.post import post
from support.accounts import change_accounts, interpreter_for_others
from support.patience import STRETCH

PATIENCE = STRETCH * 120
DASHBOARD = """
import sys
from hackathon.web.dashboard import uvicorn_server
from hackathon.cli.main import main
uvicorn_server.HALF_SAID = 1e5
sys.argv[0] = "hackathon"
main()
"""
"""The command, which gives everybody time to ask: ten seconds are soon over on a machine under load."""
CONNECT = """
import socket, sys
try:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(300)
    made.connect(sys.argv[1])
    made.sendall(b"GET /en/now HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
    print("answer", made.recv(100).split(b"\\r\\n")[0].decode())
except OSError as error:
    print(type(error).__name__)
"""
HALF_SAID = """
import contextlib, resource, socket, sys, time
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
made = []
for _ in range(1100):
    made.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 300))
    with contextlib.suppress(ConnectionError):
        made[-1].sendall(b"GET / HTTP/1.1\\r\\nHost: local")
print("open", flush=True)
time.sleep(3000)
"""
LOOK = """
import sys
for path in sys.argv[1:]:
    try:
        print("read", open(path, "rb").read())
    except OSError as error:
        print(type(error).__name__)
"""


SENDER = """
import http.client, os, re, socket, sys, time
from urllib.parse import urlencode
path, count, gate = sys.argv[1:]
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(300)
        self.sock.connect(path)
def ask(method, where, body=None, **headers):
    made = Connection("localhost")
    made.request(method, where, body, headers)
    answer = made.getresponse()
    return answer, answer.read().decode()
answer, page = ask("GET", "/en/board")
values = {name: re.search(f'name="{name}" value="([^"]*)"', page)[1] for name in ("token", "back", "post")}
headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://localhost",
           "Cookie": answer.getheader("set-cookie").partition(";")[0]}
acts = ["take", *["answer"] * int(count), "solve"]
print("ready", flush=True)
while not os.path.exists(gate):  # what the other one has solved has no form any more
    time.sleep(0.01)
for number, act in enumerate(acts):
    form = {**values, "act": act, "text": f"{act} {number}"}
    print(ask("POST", "/act", urlencode(form), **headers)[0].status, flush=True)
forged = {**values, "act": "answer", "text": "forged", "user": "root"}
print(ask("POST", "/act", urlencode(forged), **headers)[0].status)
"""


@dataclass
class Users:
    """Two accounts that can reach this Python and this checkout."""

    folder: Path
    python: str
    packages: str
    uids: dict[str, int] = field(default_factory=dict)

    def runtime(self, role: str) -> Path:
        return self.folder / f"run-{role}"

    def start(self, role: str, *words: str, **environment: str) -> "subprocess.Popen[str]":
        uid = self.uids[role]
        home = self.folder / f"home-{role}"
        settings = {
            "HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": self.packages, "PYTHONDONTWRITEBYTECODE": "1",
            "HACKATHON_LANG": "en", "XDG_RUNTIME_DIR": str(self.runtime(role)), **environment,
        }  # fmt: skip
        options: dict[str, Any] = {"user": uid, "group": uid, "extra_groups": [], "umask": 0o022}
        return subprocess.Popen(
            [self.python, *words], cwd=home, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **options,
        )  # fmt: skip

    def output(self, role: str, *words: str, **environment: str) -> tuple[int, str, str]:
        process = self.start(role, *words, **environment)
        out, error = process.communicate(timeout=PATIENCE)
        return process.returncode, out, error

    @contextlib.contextmanager
    def dashboard(
        self, *words: str, role: str = "alice", shown: Path | None = None
    ) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
        """Run a user's dashboard of a folder; gives the process and the lines that it printed."""
        words = ("-c", DASHBOARD, "dashboard", "--no-ask", str(shown or self.folder / "home-alice"), *words)
        with self.start(role, *words) as process:
            lines: list[str] = []
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    lines.append(line.rstrip("\n"))
                    if "Ctrl-C" in line:
                        break
                assert lines, process.stderr and process.stderr.read()
                yield process, lines
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(PATIENCE)


@pytest.fixture(scope="module")
def users() -> Iterator[Users]:
    """Two real accounts, made for this module and taken away after it."""
    python = interpreter_for_others()
    folder = Path(tempfile.mkdtemp(prefix="hk-", suffix=letters(), dir="/tmp"))
    folder.chmod(0o755)
    made = Users(folder, *python)
    try:
        for role in ("alice", "eve"):
            name = f"{role[:3]}{folder.name[-8:]}".lower()
            home = folder / f"home-{role}"
            command = ["useradd", "--no-create-home", "--home-dir", str(home), "--user-group", name]
            change_accounts(*command)
            made.uids[role] = pwd.getpwnam(name).pw_uid
            for path in (home, made.runtime(role)):
                path.mkdir(mode=0o755)
                os.chown(path, made.uids[role], made.uids[role])
        yield made
    finally:
        for role in made.uids:
            shutil.rmtree(f"/tmp/hackathon-{made.uids[role]}", ignore_errors=True)  # the pages' index
            name = f"{role[:3]}{folder.name[-8:]}".lower()
            subprocess.run(["userdel", name], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_another_user_does_not_get_through_the_socket(users: Users) -> None:
    with users.dashboard() as (_, lines):
        path = Path(next(found[1] for line in lines if (found := re.search(r"ssh -L 8000:(\S+) ", line))))
        assert users.output("alice", "-c", CONNECT, str(path))[1] == "answer HTTP/1.1 200 OK\n"
        assert users.output("eve", "-c", CONNECT, str(path))[1] == "PermissionError\n"
        script = f"import os; os.listdir({str(path.parent)!r})"
        assert "PermissionError" in users.output("eve", "-c", script)[2]
        # even where alice opened the folder to others
        path.parent.chmod(0o755)
        assert users.output("eve", "-c", CONNECT, str(path))[1] == "PermissionError\n"
        # and the socket: the server asks the kernel who is there
        path.chmod(0o666)
        out = users.output("eve", "-c", CONNECT, str(path))[1]
        assert out in ("answer \n", "ConnectionResetError\n", "BrokenPipeError\n")
        assert users.output("alice", "-c", CONNECT, str(path))[1] == "answer HTTP/1.1 200 OK\n"
        path.parent.chmod(0o700)
    assert not path.exists()


@pytest.mark.slow
def test_another_user_neither_reads_the_token_nor_sees_it_in_the_list_of_processes(users: Users) -> None:
    with users.dashboard("--port", "0") as (process, lines):
        text = "\n".join(lines)
        found = re.search(r"http://hackathon-\w+\.localhost:(\d+)/enter\?token=([0-9a-f]{32})$", text, re.MULTILINE)
        assert found, text
        number, token = found.groups()
        file = re.search(r"also in (\S+\.token)\.", text)[1]  # type: ignore[index]
        assert Path(file).read_text().strip() == token
        looked = [file, f"/proc/{process.pid}/environ", f"/proc/{process.pid}/cmdline"]
        out = users.output("eve", "-c", LOOK, *looked)[1].splitlines()
        assert out[:2] == ["PermissionError"] * 2
        assert out[2].startswith("read")
        assert token not in out[2]
        get = (
            "import sys, urllib.request, urllib.error\n"
            "try:\n    print(urllib.request.urlopen(sys.argv[1], timeout=300).status)\n"
            "except urllib.error.HTTPError as error:\n    print(error.code)\n"
            "except (OSError, urllib.error.URLError):\n    print('no answer')\n"
        )
        # even with the token, which another page in the browser may have got: the server asks the kernel who is there
        for path in ("/en/now", "/enter?token=" + "0" * 32, f"/enter?token={token}", "/stream?page=/en/now"):
            assert users.output("eve", "-c", get, f"http://127.0.0.1:{number}{path}")[1] == "no answer\n"
        address = f"http://127.0.0.1:{number}/enter?token="
        assert users.output("alice", "-c", get, address + "0" * 32)[1] == "403\n"
        assert users.output("alice", "-c", get, address + token)[1] in ("200\n", "403\n")  # without keeping the cookie


@pytest.mark.slow
def test_another_user_s_many_connections_do_not_keep_the_holder_of_the_cookie_out(users: Users) -> None:
    with users.dashboard("--port", "0") as (_, lines):
        found = re.search(r"http://hackathon-\w+\.localhost:(\d+)(/enter\?token=\S+)", "\n".join(lines))
        assert found, lines

        def ask(path: str, cookie: str = "") -> http.client.HTTPResponse:
            connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE)
            connection.request("GET", path, headers={"Host": "localhost", "Cookie": cookie, "Connection": "close"})
            return connection.getresponse()

        cookie = str(ask(found[2]).getheader("set-cookie")).partition(";")[0]
        slow = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE)
        slow.connect()  # older than all of eve's, but not hers
        with users.start("eve", "-c", HALF_SAID, found[1]) as eve:
            try:
                assert eve.stdout is not None
                assert eve.stdout.readline() == "open\n"
                slow.request("GET", "/en/now", headers={"Host": "localhost", "Cookie": cookie})
                assert slow.getresponse().status == 200
                assert [ask("/en/now", cookie).status for _ in range(20)] == [200] * 20
            finally:
                eve.kill()


def test_a_folder_that_another_user_made_in_its_place_is_refused(users: Users) -> None:
    """In /tmp anybody can make the folder first; what stands in it could be replaced."""
    folder = Path("/tmp") / f"hackathon-{users.uids['alice']}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o777)
    os.chown(folder, users.uids["eve"], users.uids["eve"])
    try:
        words = ("-m", "hackathon", "dashboard", "--no-ask", str(users.folder / "home-alice"))
        code, out, error = users.output("alice", *words, XDG_RUNTIME_DIR="")
        assert (code, out) == (2, "")
        assert f"{folder} is not your own folder" in error
        assert "Traceback" not in error
        assert list(folder.iterdir()) == []
    finally:
        shutil.rmtree(folder)


def test_another_user_s_socket_is_not_taken_for_ours(users: Users) -> None:
    """A socket that somebody put where ours would be is neither used nor removed."""
    place = users.folder / "home-alice" / "sockets"
    place.mkdir(mode=0o700)
    os.chown(place, users.uids["alice"], users.uids["alice"])
    path = place / "d.sock"
    import socket

    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(path))
        os.chown(path, users.uids["eve"], users.uids["eve"])
        words = ("-m", "hackathon", "dashboard", "--no-ask", "--socket", str(path))
        code, _, error = users.output("alice", *words)
        assert code == 2
        assert "is not your socket" in error
        assert path.is_socket()


@pytest.mark.slow
def test_two_tutors_at_once_write_as_themselves_and_lose_nothing(users: Users) -> None:
    """Each at a dashboard of their own, over one board: all they wrote is there, and belongs to who wrote it."""
    event = users.folder / "event"
    event.mkdir()
    make_place(event / "shared", "sticky")
    names = {role: pwd.getpwuid(uid).pw_name for role, uid in users.uids.items()}
    tutors = ", ".join(f"{{user: {name}}}" for name in names.values())
    (event / "hackathon.yaml").write_text(f"title: E\nshared: shared\ntutors: [{tutors}]\nteams: [{{name: aurora}}]\n")
    post(open_board(event / "shared", event), "Who comes?", kind="ask")
    count, gate = 8, users.folder / "go"
    with contextlib.ExitStack() as stack:
        senders = {}
        for role in names:
            _, lines = stack.enter_context(users.dashboard(role=role, shown=event))
            path = next(found[1] for line in lines if (found := re.search(r"ssh -L 8000:(\S+) ", line)))
            other = "eve" if role == "alice" else "alice"
            assert "PermissionError" in users.output(other, "-c", SENDER, path, "1", "")[2], "not as somebody else"
            senders[role] = path
        running = {role: users.start(role, "-c", SENDER, path, str(count), str(gate)) for role, path in senders.items()}
        for process in running.values():
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        gate.touch()
        for process in running.values():
            out, error = process.communicate(timeout=PATIENCE)
            assert out.split() == ["303"] * (count + 2) + ["400"], error
    (found,) = open_board(event / "shared", event).posts
    said = [*found.answers, *(each for each in (found.taken, found.solved) if each)]
    for uid in users.uids.values():
        words = {each.text for each in said if each.uid == uid}
        assert words == {"take 0", f"solve {count + 1}", *(f"answer {n}" for n in range(1, count + 1))}
    assert {each.user for each in said} == set(names.values())
    assert {path.stat().st_uid for path in (event / "shared/entries").iterdir()} == {*users.uids.values(), os.geteuid()}
