"""Somebody wants to know what others answered, to answer twice or for others, or to let the organiser tell it."""

import json
import secrets
from pathlib import Path

from support.event_play.hostile import NEW, asked, attack, below, forge, processes_tell, take_back, watched
from support.event_play.play import Play
from support.event_play.survey import NAME, WITHDRAWN, counted
from support.event_play.teams import fingerprint

RADIO = 'type="radio"'


def at_the_form(play: Play, role: str, address: str, pid: int, used: list[str], unused: list[str]) -> None:
    """Try the form from another account of the machine: without a token, with used and invented ones, on its port."""
    before = counted(play)
    answer = {"q-length": "1", "q-satisfaction": "1"}
    invented = [secrets.token_hex(8), used[0][::-1]]
    status, page = asked(play, role, address)
    assert (status, RADIO in page) == (200, False)
    for token in invented[:1]:
        status, page = asked(play, role, f"{address}?t={token}")
        assert (status, RADIO in page) == (403, False)
    for token in used:
        _, page = asked(play, role, f"{address}?t={token}")
        assert RADIO not in page
        status, page = asked(play, role, address, {"t": token, **answer})
        assert status == 409, page
    for token in invented:
        status, page = asked(play, role, address, {"t": token, **answer})
        assert status == 403, page
    for path in ("answers", "surveys/after/survey.yaml", "%2e%2e/hackathon.yaml", "api", "summary"):
        assert asked(play, role, address + path)[0] == 404
    assert asked(play, role, address, headers={"Host": "evil.example"})[0] == 421
    assert processes_tell(play, role, [pid], [*used, *unused]) == []
    port = int(address.rstrip("/").rpartition(":")[2])
    for host in ("127.0.0.1", "0.0.0.0"):
        for option in ("SO_REUSEADDR", "SO_REUSEPORT"):
            code = (
                f"import socket; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.{option}, 1); "
                f"s.bind(({host!r}, {port})); s.listen()"
            )
            assert play.attempt(role, code) == "OSError"
    assert counted(play) == before


def at_the_box(play: Play, role: str, victim: str, used: str) -> None:
    """Try the drop box and the organiser's folder from another account: to read, to change, to answer for others."""
    surveys, folder = play.event / "surveys", play.shared / "surveys"
    box = folder / NAME / "box"
    before, kept = counted(play), fingerprint(surveys, folder, without=play.uids[role])
    assert play.attempt(role, f"os.listdir({str(box)!r})") == "PermissionError"
    assert play.attempt(role, f"os.open({str(box)!r}, os.O_RDONLY)") == "PermissionError"
    assert watched(play, role, box) == "PermissionError"
    # all names are given away to the attack, also those that nobody can know: altering must fail all the same
    done = set(attack(play, role, below(folder), below(surveys)))
    assert done == {(call, box) for call in NEW}, done
    take_back(play, role, folder)

    (theirs,) = [path for path in box.iterdir() if path.stat().st_uid == play.uids[victim]]
    answer = json.loads(theirs.read_text())
    answer["values"]["satisfaction"] = 1
    names = [f"{secrets.token_hex(16)}.json" for _ in range(4)]
    put = [
        forge(play, role, box, names[0], json.dumps({**answer, "name": names[0], "token": used}).encode()),
        forge(play, role, box, names[1], json.dumps({**answer, "user": victim, "uid": play.uids[victim]}).encode()),
        forge(play, role, box, names[2], json.dumps({**answer, "name": names[2], "token": "0" * 64}).encode()),
    ]
    for name, code in (("link", f"os.symlink({str(theirs)!r}, {{}})"), ("fifo", "os.mkfifo({}, 0o644)"),
                       ("folder", "os.mkdir({})")):  # fmt: skip
        path = box / f"{secrets.token_hex(16)}.json"
        assert play.attempt(role, code.format(repr(str(path)))) == "done", name
        put.append(path)
    assert fingerprint(surveys, folder, without=play.uids[role]) == kept
    assert counted(play) == before
    remove = "[os.rmdir(p) if os.path.isdir(p) and not os.path.islink(p) else os.unlink(p) for p in json.loads({!r})]"
    assert play.attempt(role, remove.format(json.dumps([str(path) for path in put]))) == "done"
    assert counted(play) == before


def in_the_terminal(play: Play, role: str, used: str) -> None:
    """Answer as somebody who is not asked, again and again, with a token that was used, and with an invented one."""
    before = counted(play)
    lie = ("--set", "length=1", "--set", "lecture=1", "--set", "handouts=1", "--set", "satisfaction=1")
    for token in ("", used, secrets.token_hex(8)):
        options = ("--token",) if token else ()
        play.done(role, "survey", "answer", NAME, *options, *lie, at=play.event, typed=f"{token}\n" if token else "")
    slip = play.cli(role, "survey", "answer", NAME, "--token", *lie, at=play.event, typed=used[:-1] + "\n")
    assert slip.code == 2, slip.all  # a slip of the pen is told; it would never count
    assert play.cli(role, "survey", "check", NAME, at=play.event).code != 0
    for words in (("close", "-y"), ("summary", "--all"), ("open",), ("import", str(play.home(role) / "mine"))):
        said = play.cli(role, "survey", words[0], NAME, *words[1:], at=play.event)
        assert said.code != 0, said.all
    assert counted(play) == before


def while_somebody_answers(play: Play, role: str, victim: str, token: str) -> None:
    """Look at all that can be seen of a participant who is just answering with a token in the terminal."""
    words = ("hackathon-apart", "survey", "answer", NAME, "--token")
    typing = play.on_terminal(victim, *words, at=play.event)
    try:
        typing.wait_for(b"token")
        typing.type(f"{token}\n")
        typing.wait_for(b"1/")
        assert processes_tell(play, role, [typing.process.pid], [token]) == []
        tty = Path(f"/proc/{typing.process.pid}/fd/0").readlink()
        assert play.attempt(role, f"os.open({str(tty)!r}, os.O_RDWR)") == "PermissionError"
    finally:
        typing.end()


def let_the_organiser_read(play: Play, role: str) -> list[bytes]:
    """Put a run into the role's own team whose files are links to what only the organiser can read.

    Whoever makes report and site as the organiser would publish it. Return what must be in neither.
    """
    secret = play.home("kanri") / "secret.txt"
    secret.write_text("organiser: this-is-nobodys-business\n")
    secret.chmod(0o600)
    play.give(secret, "kanri")
    closed = play.event / "surveys" / NAME / "closed" / "answers.json"
    assert WITHDRAWN in closed.read_text("utf-8")
    runs = play.team_folder(play.teams[role]) / "train" / "runs"
    (failed,) = [path.parent for path in runs.glob("*/final.json") if '"FAILED"' in path.read_text()]
    links = {
        "logs/rank-0.log": secret, "logs/job.log": closed, "metrics/rank-0.jsonl": closed, "source/train.py": secret,
        "source/answers.json": closed,
    }  # fmt: skip
    for number, more in enumerate(({}, {"request.json": closed}, {"../../project.yaml": secret})):
        copy = (
            play.team_folder(play.teams[role]) / f"spy{number}" / "runs" / f"{failed.name[:-8]}spyspys{'abc'[number]}"
        )
        names = {name: str(to) for name, to in (links | more).items()}
        code = (
            f"shutil.copytree({str(failed)!r}, {str(copy)!r})\n"
            f"    for name, to in {names!r}.items():\n"
            f"        at = pathlib.Path({str(copy)!r}, name); at.parent.mkdir(exist_ok=True); "
            "at.unlink(missing_ok=True); at.symlink_to(to)"
        )
        assert play.attempt(role, code) == "done"
    return [b"this-is-nobodys-business", WITHDRAWN.encode()]
