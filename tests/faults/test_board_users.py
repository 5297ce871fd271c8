"""The board with several real Unix users: nothing is lost, and a hostile one can neither alter nor pass for another."""

import json
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.board import store
from hackathon.board.board import Board, Post, find_post, read_board
from hackathon.board.directory import open_place
from hackathon.board.entry import LARGEST, Entry, encode, letters, new_id
from hackathon.board.people import People
from hackathon.config.event import Event, Member, Team, Tutor
from hackathon.text.errors import HackathonError, RequestError
from support.accounts import change_accounts, python_for_others
from support.patience import STRETCH

POSTS, ANSWERS, PROCESSES = 9, 6, 4
WRITER = """
import sys, time
from pathlib import Path
from hackathon.board.board import open_board, reply
from hackathon.board.post import post
shared, word, posts, answers = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
while not (shared.parent / "go").exists():
    time.sleep(0.01)
made = []
for number in range(max(posts, answers)):
    if number < posts:
        made.append("post " + post(open_board(shared), f"{word} post {number}\\n" + "body " * 400).entry.id)
    if number < answers:
        board = open_board(shared)
        top = board.posts[-1 - number % min(7, len(board.posts))]
        made.append("answer " + reply(board, top, "answer", f"{word} answer {number}").entry.id + " " + top.id)
print("\\n".join(made))
"""


@dataclass
class Site:
    """A shared directory, and users who can reach it, this Python and this checkout."""

    folder: Path
    python: str
    packages: str
    users: dict[str, int] = field(default_factory=dict)
    """Role (alice, bob, carol, tutor, eve) → uid."""

    @property
    def shared(self) -> Path:
        return self.folder / "event"

    @property
    def entries(self) -> Path:
        return self.shared / "entries"

    def account(self, role: str) -> str:
        return f"{role[:3]}{self.folder.name[-8:]}".lower()

    def start(self, role: str, *words: str) -> "subprocess.Popen[str]":
        uid = self.users[role]
        home = self.folder / f"home-{role}"
        environment = {
            "HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": self.packages, "PYTHONDONTWRITEBYTECODE": "1",
            "HACKATHON_SHARED": str(self.shared), "HACKATHON_LANG": "en",
        }  # fmt: skip
        options: dict[str, Any] = {"user": uid, "group": uid, "extra_groups": [], "umask": 0o077}
        return subprocess.Popen(
            [self.python, *words], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
        )  # fmt: skip

    def python_of(self, role: str, *words: str) -> tuple[int, str, str]:
        process = self.start(role, *words)
        out, error = process.communicate(timeout=STRETCH * 120)
        return process.returncode, out, error

    def cli(self, role: str, *words: str) -> tuple[int, str, str]:
        return self.python_of(role, "-m", "hackathon", *words)

    def attempts(self, role: str, codes: list[str]) -> list[str]:
        """Return what a user's own Python says to each of these system calls: the error's name, or `done`."""
        script = "import os\n" + "".join(
            f"try:\n    {code}\n    print('done')\nexcept OSError as error:\n    print(type(error).__name__)\n"
            for code in codes
        )
        _, out, error = self.python_of(role, "-c", script)
        assert not error, error
        return out.split()

    def attempt(self, role: str, code: str) -> str:
        """Return what a user's own Python says to a system call."""
        (said,) = self.attempts(role, [code])
        return said

    def board(self) -> Board:
        return read_board(open_place(self.shared), People(self.event()))

    def event(self) -> Event:
        members = [Member(self.account(role), name=role.title()) for role in ("alice", "bob")]
        return Event("Test", teams=[Team("Aurora", members=members)], tutors=[Tutor(self.account("tutor"))])

    def post(self, role: str, text: str) -> Post:
        code, out, error = self.cli(role, "board", "post", text, "--json")
        assert code == 0, error
        return find_post(self.board(), json.loads(out)["id"])

    def forge(self, role: str, entry: Entry, name: str | None = None, raw: bytes | None = None) -> Path:
        """Put a file on the board as a user would who does not use this program."""
        path = self.entries / (name or f"{entry.id}.json")
        path.write_bytes(encode(entry) if raw is None else raw)
        path.chmod(0o644)
        os.chown(path, self.users[role], self.users[role])
        return path

    def why(self, name: str) -> str:
        """Return why a file was passed over; empty when it was not."""
        return next((each.why for each in self.board().passed if each.name == name), "")


@pytest.fixture(scope="module")
def users() -> Iterator[Site]:
    """Five real accounts, made for this module and taken away after it."""
    python = python_for_others()
    folder = Path(tempfile.mkdtemp(prefix="hk-board-", suffix=letters()))
    folder.chmod(0o755)
    site = Site(folder, *python)
    try:
        for role in ("alice", "bob", "carol", "tutor", "eve"):
            name = site.account(role)
            home = folder / f"home-{role}"
            command = ["useradd", "--no-create-home", "--home-dir", str(home), "--user-group", name]
            change_accounts(*command)
            import pwd

            site.users[role] = pwd.getpwnam(name).pw_uid
            home.mkdir(mode=0o700)
            os.chown(home, site.users[role], site.users[role])
        lines = ["title: Test", "teams:", "- name: Aurora", "  members:"]
        lines += [f"  - {{user: {site.account(role)}, name: {role.title()}}}" for role in ("alice", "bob")]
        lines += ["tutors:", f"- {{user: {site.account('tutor')}}}"]
        (folder / "hackathon.yaml").write_text("\n".join(lines) + "\n")
        (folder / "hackathon.yaml").chmod(0o644)
        yield site
    finally:
        for role in site.users:
            subprocess.run(["userdel", site.account(role)], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def site(users: Site) -> Iterator[Site]:
    """The accounts with a new board of mode sticky."""
    before = os.umask(0o077)  # whoever makes the board may have a narrow one
    try:
        from hackathon.board.directory import make_place

        place, _ = make_place(users.shared, "sticky")
    finally:
        os.umask(before)
    assert place.problems == []
    yield users
    for each in users.folder.glob("event*"):
        shutil.rmtree(each)
    (users.folder / "go").unlink(missing_ok=True)


@pytest.mark.slow
def test_concurrent_posts_and_answers_lose_nothing(site: Site) -> None:
    roles = ["alice", "bob", "carol", "eve"] * (PROCESSES // 4)
    processes = [
        site.start(role, "-c", WRITER, str(site.shared), f"{role}-{number}", str(POSTS), str(ANSWERS))
        for number, role in enumerate(roles)
    ]
    (site.folder / "go").touch()
    seen: set[str] = set()
    while any(process.poll() is None for process in processes):
        board = site.board()  # a reader in the middle of it sees whole posts only, and none goes away again
        assert board.passed == []
        now = {post.id for post in board.posts}
        assert seen <= now
        assert all(len(post.text) >= 1999 for post in board.posts)
        seen = now
        time.sleep(0.05)
    said = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0] * PROCESSES, said
    lines = [(roles[number], *line.split()) for number, (out, _) in enumerate(said) for line in out.splitlines()]
    board = site.board()
    posts = {post.id: post.uid for post in board.posts}
    assert posts == {line[2]: site.users[line[0]] for line in lines if line[1] == "post"}
    assert len(posts) == PROCESSES * POSTS
    answers = {(reply.id, post.id): reply.uid for post in board.posts for reply in post.answers}
    assert answers == {(line[2], line[3]): site.users[line[0]] for line in lines if line[1] == "answer"}
    assert len(answers) == PROCESSES * ANSWERS
    assert board.passed == []
    assert not [path for path in site.entries.iterdir() if path.name.startswith(".")]
    owners = {path.name.split("-")[2]: path.stat().st_uid for path in site.entries.iterdir()}
    assert owners == {str(uid): uid for uid in (site.users[role] for role in set(roles))}


FORBIDDEN = (
    "os.open({path!r}, os.O_WRONLY)",
    "os.truncate({path!r}, 0)",
    "os.unlink({path!r})",
    "os.rename({path!r}, {path!r} + '.gone')",
    "os.chmod({path!r}, 0o666)",
    "os.chown({path!r}, os.getuid(), -1)",
    "os.utime({path!r}, (0, 0))",
    "(os.close(os.open({other!r}, os.O_CREAT | os.O_WRONLY)), os.rename({other!r}, {path!r}))",
    "(os.symlink('/etc/passwd', {other!r} + '2'), os.rename({other!r} + '2', {path!r}))",
    "os.rename({entries!r}, {entries!r} + '-old')",
    "os.rmdir({entries!r})",
    "os.rename({shared!r}, {shared!r} + '-old')",
    "os.unlink({shared!r} + '/board.json')",
    "os.chmod({entries!r}, 0o777)",
)
"""What another user may try at a post, the folder and the board's own file."""


def test_another_user_s_post_can_not_be_altered(site: Site) -> None:
    mine = site.post("alice", "mine\nas I wrote it")
    path = site.entries / f"{mine.id}.json"
    before = path.read_bytes()
    values = {"path": str(path), "other": f"{path}.eve", "entries": str(site.entries), "shared": str(site.shared)}
    said = site.attempts("eve", [code.format(**values) for code in FORBIDDEN])
    assert dict(zip(FORBIDDEN, said, strict=True)) == dict.fromkeys(FORBIDDEN, "PermissionError")
    assert path.read_bytes() == before
    assert find_post(site.board(), mine.id) == mine
    assert site.attempt("alice", f"os.unlink({str(path)!r})") == "done"  # her own she may take back
    assert site.board().posts == []


def test_a_field_does_not_say_who_wrote_it(site: Site) -> None:
    board, uid = open_place(site.shared).board, site.users["eve"]
    entry = Entry(new_id(uid), "post", time.time(), board, text="I am alice")
    alice = {"user": site.account("alice"), "uid": site.users["alice"], "by": "alice", "owner": site.users["alice"]}
    raw = json.dumps({**json.loads(encode(entry)), **alice}).encode()
    site.forge("eve", entry, raw=raw)
    (post,) = site.board().posts
    assert (post.uid, post.user) == (uid, site.account("eve"))


def test_a_name_with_another_s_number_is_passed_over(site: Site) -> None:
    board = open_place(site.shared).board
    entry = Entry(new_id(site.users["alice"]), "post", time.time(), board, text="I am alice")
    path = site.forge("eve", entry)
    assert site.board().posts == []
    assert site.why(path.name) == "foreign"
    code, out, error = site.cli("bob", "board")
    assert code == 0
    assert "there are no posts yet" in error
    assert path.name in error
    assert site.account("eve") in error
    assert "named after another user" in error
    assert not out


def test_a_hard_link_makes_no_second_post_and_hides_no_first(site: Site) -> None:
    mine = site.post("alice", "mine")
    path = site.entries / f"{mine.id}.json"
    # as a file system without protection of hard links lets eve do it
    for name in (f"{new_id(site.users['alice'])}.json", f"{new_id(site.users['eve'])}.json"):
        os.link(path, site.entries / name)
        assert site.why(name) == "other_name"
    assert site.board().posts == [mine]


def test_a_hard_link_to_a_file_from_another_board_is_passed_over(site: Site) -> None:
    mine = site.post("alice", "for this event")
    name = f"{mine.id}.json"
    old = site.folder / "event-old"
    site.shared.rename(old)
    from hackathon.board.directory import make_place

    make_place(site.shared, "sticky")
    os.link(old / "entries" / name, site.entries / name)
    assert site.board().posts == []
    assert site.why(name) == "other_board"


def test_links_fifos_folders_and_big_files_are_passed_over_without_waiting(site: Site) -> None:
    mine = site.post("alice", "mine")
    path = site.entries / f"{mine.id}.json"
    uid = site.users["eve"]
    names = [str(site.entries / f"{new_id(uid)}.json") for _ in range(5)]
    assert site.attempt("eve", f"os.symlink({str(path)!r}, {names[0]!r})") == "done"
    assert site.attempt("eve", f"os.mkfifo({names[1]!r}, 0o644)") == "done"
    assert site.attempt("eve", f"os.mkdir({names[2]!r})") == "done"
    assert site.attempt("eve", f"os.truncate(os.open({names[3]!r}, os.O_CREAT | os.O_WRONLY), 1 << 40)") == "done"
    assert site.attempt("eve", f"os.symlink('/dev/zero', {names[4]!r})") == "done"
    os.chmod(names[3], 0o644)  # noqa: PTH101
    board = site.board()
    assert board.posts == [mine]
    assert [site.why(Path(name).name) for name in names] == ["link", "special", "special", "large", "link"]
    assert {each.uid for each in board.passed} == {uid}


@pytest.mark.parametrize("swap", ["link", "fifo"])
def test_a_file_that_is_swapped_while_it_is_read(site: Site, monkeypatch: pytest.MonkeyPatch, swap: str) -> None:
    """Between the look at a file and its opening its owner puts something else in its place."""
    mine = site.post("alice", "mine")
    uid, opened = site.users["eve"], os.open
    entry = Entry(new_id(uid), "post", time.time(), open_place(site.shared).board, text="innocent")
    path = site.forge("eve", entry)

    def swapping(name: Any, *words: Any, **more: Any) -> int:
        if name == path.name and path.exists():
            path.unlink()
            if swap == "link":
                path.symlink_to(site.entries / f"{mine.id}.json")
            else:
                os.mkfifo(path)
        return opened(name, *words, **more)

    monkeypatch.setattr(os, "open", swapping)
    board = site.board()
    assert board.posts == [mine]
    assert [(each.name, each.why) for each in board.passed] == [
        (path.name, {"link": "unreadable", "fifo": "special"}[swap])
    ]


GARBAGE = (
    b"", b"\xff\xfe", b"[]", b"null", b"{", b"[" * 100_000, b'{"schema_version": 1}', b'"' + b"x" * LARGEST,
    b'{"schema_version": 1' + b"0" * 5000 + b"}",
)  # fmt: skip


def test_garbage_is_passed_over(site: Site) -> None:
    mine = site.post("alice", "mine")
    for raw in GARBAGE:
        path = site.forge("eve", Entry(new_id(site.users["eve"]), "post", 0.0, ""), raw=raw)
        assert site.board().posts == [mine]
        assert site.why(path.name) in ("garbage", "other_name", "large", "newer"), raw[:40]


def test_a_file_that_others_can_change_is_passed_over(site: Site) -> None:
    mine = site.post("alice", "mine")
    path = site.entries / f"{mine.id}.json"
    path.chmod(0o666)
    assert site.board().posts == []
    assert site.why(path.name) == "writable"


def test_a_post_from_the_future_gets_the_file_system_s_time(site: Site) -> None:
    place = open_place(site.shared)
    first = site.post("alice", "first")
    entry = Entry(new_id(site.users["eve"]), "post", time.time() + 1e6, place.board, text="always the newest")
    site.forge("eve", entry)
    post = find_post(site.board(), entry.id)
    assert post.future
    assert abs(post.time - time.time()) < 600
    assert not first.future
    _, out, _ = site.cli("bob", "board", "show", post.short)
    assert "its date was later than" in out


def test_no_user_can_make_the_board_unreadable_by_many_files(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_ENTRIES", 20)
    mine = site.post("alice", "mine")
    board, uid = open_place(site.shared).board, site.users["eve"]
    for _ in range(50):
        site.forge("eve", Entry(new_id(uid), "post", time.time(), board, text="spam"))
    found = site.board()
    assert mine in found.posts
    assert len(found.posts) == 21
    assert {(each.uid, each.why) for each in found.passed} == {(uid, "many")}


@pytest.mark.slow
def test_junk_by_the_thousand_hides_nobody_s_post_and_names_who_left_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, uid = site.post("alice", "mine"), site.users["eve"]
    code = f"[os.close(os.open('{site.entries}/%05d.txt' % each, os.O_CREAT | os.O_WRONLY)) for each in range(20_000)]"
    assert site.attempt("eve", code) == "done"
    looks, look = [0], os.stat

    def counting(*words: Any, **more: Any) -> os.stat_result:
        looks[0] += "dir_fd" in more
        return look(*words, **more)

    monkeypatch.setattr(os, "stat", counting)
    board = site.board()
    assert board.posts == [mine]
    assert looks[0] <= 2 * store.MOST_STRAYS + 2
    first = board.passed[0]
    assert (first.uid, first.why, first.count) == (uid, "crowded", 19_500)
    assert first.most >= 0.99 * first.asked > 0
    _, _, error = site.cli("bob", "board")
    assert "20000 files on the board ignored" in error
    assert f"{site.account('eve')}: too many files: 19500 not examined" in error
    # junk that is named like posts leaves room for the newest of everybody
    monkeypatch.setattr(store, "MOST_NAMES", 100)
    for path in list(site.entries.glob("0*.txt"))[:300]:
        path.rename(path.with_name(f"{new_id(uid)}.json"))
    newer = site.post("bob", "newer")
    board = site.board()
    assert board.posts == [mine, newer]
    assert board.passed[0].uid == uid


def test_only_the_asker_or_a_tutor_closes_a_post(site: Site) -> None:
    mine, other = site.post("alice", "mine"), site.post("alice", "another one")
    code, _, error = site.cli("eve", "board", "solve", mine.short)
    assert code == 2
    assert "only" in error
    assert site.account("alice") in error
    board, uid = open_place(site.shared).board, site.users["eve"]
    forged = site.forge("eve", Entry(new_id(uid), "solve", time.time(), board, to=mine.id, text="closed by force"))
    assert find_post(site.board(), mine.id).solved is None
    assert site.why(forged.name) == "not_allowed"
    assert site.cli("alice", "board", "solve", mine.short, "a smaller batch")[0] == 0
    assert site.cli("tutor", "board", "solve", other.short)[0] == 0
    solved = {post.id: post.solved.uid for post in site.board().posts if post.solved}
    assert solved == {mine.id: site.users["alice"], other.id: site.users["tutor"]}


def test_a_reply_to_nothing_is_passed_over(site: Site) -> None:
    board, uid = open_place(site.shared).board, site.users["eve"]
    path = site.forge("eve", Entry(new_id(uid), "answer", time.time(), board, to=new_id(uid), text="?"))
    assert site.why(path.name) == "no_such_post"


def test_what_others_write_can_not_steer_a_terminal(site: Site) -> None:
    text = "\x1b]0;owned\x07red \x1b[31mtitle\x9b2J\nbody \u202e backwards\x00\x7f"
    board, uid = open_place(site.shared).board, site.users["eve"]
    entry = Entry(new_id(uid), "post", time.time(), board)
    raw = json.dumps({**json.loads(encode(entry)), "text": text}, ensure_ascii=True).encode()
    site.forge("eve", entry, raw=raw)
    for words in (["board"], ["board", "show", entry.id], ["board", "show", entry.id, "--json"], ["board", "--json"]):
        code, out, _ = site.cli("bob", *words)
        assert code == 0
        assert "title" in out
        assert not [each for each in out if each != "\n" and not each.isprintable()]


def test_a_replaced_directory_is_refused(site: Site) -> None:
    site.post("alice", "mine")
    site.entries.rename(site.shared / "away")
    site.entries.mkdir(mode=0o755)
    os.chown(site.entries, site.users["eve"], site.users["eve"])
    with pytest.raises(HackathonError) as caught:
        site.board()
    assert caught.value.id == "board.folder_replaced"
    code, _, error = site.cli("alice", "board", "post", "again")
    assert code != 0
    assert "does not belong to the creator of the board" in error


@pytest.mark.parametrize("which", ["entries", "event", "above"])
def test_a_directory_open_to_all_without_the_sticky_bit_is_refused(site: Site, which: str) -> None:
    mine = site.post("alice", "mine")
    folder = {"entries": site.entries, "event": site.shared, "above": site.folder}[which]
    before = stat.S_IMODE(folder.stat().st_mode)
    folder.chmod(0o777)
    try:
        code, _, error = site.cli("bob", "board", "post", "not written")
        assert code == 2, error
        code, out, error = site.cli("bob", "board")
    finally:
        folder.chmod(before)
    assert code == 0
    assert str(folder) in error.split("warning: ")[1]  # reading goes on, with a warning
    assert "mine" in out
    assert site.board().posts == [mine]


def test_folders_of_users(users: Site) -> None:
    """Mode `folders`: each one's posts lie in an own folder that nobody else can write in."""
    from hackathon.board.directory import make_place

    roles = ("alice", "bob", "eve", "tutor")
    place, commands = make_place(users.shared, "folders", [users.account(role) for role in roles])
    try:
        assert (place.problems, commands) == ([], [])
        mine = users.post("alice", "mine")
        theirs = users.post("bob", "theirs")
        people = users.shared / "people"
        own, eve = people / users.account("alice"), people / users.account("eve")
        assert (own / f"{mine.id}.json").is_file()
        path = own / "x.json"
        for code in (f"open({str(path)!r}, 'w')", f"os.rename({str(own)!r}, {str(own)!r} + '-')"):
            assert users.attempt("eve", code) == "PermissionError"
        assert users.attempt("eve", f"os.mkdir({str(people / 'zoe')!r})") == "PermissionError"
        code, _, error = users.cli("carol", "board", "post", "no folder")
        assert code == 2
        assert "no folder of their own" in error
        # a file with the name of alice's post in eve's folder neither replaces it nor is hers
        copy = eve / f"{mine.id}.json"
        copy.write_bytes((own / copy.name).read_bytes().replace(b"mine", b"evil"))
        os.chown(copy, users.users["eve"], users.users["eve"])
        board = users.board()
        assert board.posts == [mine, theirs]
        assert [(each.name, each.uid, each.why) for each in board.passed] == [
            (copy.name, users.users["eve"], "foreign")
        ]
        own.chmod(0o777)
        assert users.board().posts == [theirs]
        assert (own.name, users.users["alice"], "writable") in [
            (each.name, each.uid, each.why) for each in users.board().passed
        ]
    finally:
        shutil.rmtree(users.shared)


def test_only_root_makes_folders_of_others(users: Site) -> None:
    code, out, error = users.cli("alice", "board", "init", str(users.folder / "home-alice" / "b"), "--mode", "folders")
    assert code == 0, error
    folder = users.folder / "home-alice" / "b" / "people" / users.account("bob")
    assert f"  mkdir -m 755 -- {folder}\n  chown -h -- {users.account('bob')} {folder}\n" in out
    assert "only root" in error


def test_a_full_disk_leaves_no_part_of_a_post(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    written: Callable[[int], None] = os.fsync

    def full(descriptor: int) -> None:
        written(descriptor)
        raise OSError(28, "No space left on device")

    place = open_place(site.shared)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HackathonError) as caught:
        store.write_entry(place, Entry("", "post", 0.0, place.board, text="x"))
    assert "No space left on device" in str(caught.value)
    assert list(site.entries.iterdir()) == []


def test_a_name_that_is_taken_is_never_written_over(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    place = open_place(site.shared)
    first = store.write_entry(place, Entry("", "post", 0.0, place.board, text="first"))
    ids = iter([first.entry.id, new_id(0)])
    monkeypatch.setattr(store, "new_id", lambda uid, now: next(ids))
    second = store.write_entry(place, Entry("", "post", 0.0, place.board, text="second"))
    assert second.entry.id != first.entry.id
    assert [post.title for post in sorted(site.board().posts, key=lambda post: post.title)] == ["first", "second"]
    with pytest.raises(RequestError):
        store.write_entry(replace(place, problems=[("board.not_sticky", {"path": "x"})]), first.entry)
