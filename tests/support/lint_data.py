"""Scripts that the linter's tests share: `tests/samples/lint`."""

import re
from typing import NamedTuple

from support.paths import TESTS

DATA = TESTS / "samples" / "lint"


class Twin(NamedTuple):
    """A script with a mistake, and the same without."""

    rule: str
    dialect: str | None
    cluster: str | None
    line: int
    bad: bytes
    good: bytes


class Recorded(NamedTuple):
    """A script, and what a real server did with it."""

    name: str
    raw: bytes
    exit_code: int
    answer: str


def raw_of(text: str) -> bytes:
    """Return the bytes of a script: `^M`, `^I`, `^BOM` and what `cat -A` shows stand for what cannot be seen."""
    raw = text.encode().replace(b"^M\n", b"\r\n").replace(b"^I", b"\t").replace(b"^BOM", b"\xef\xbb\xbf")
    raw = raw.replace(b"M-oM-;M-?", b"\xef\xbb\xbf").replace(b"M-oM-<M-^M", "－".encode())
    return raw.replace(b"^SJIS", "実験".encode("shift_jis"))


def twins() -> list[Twin]:
    """Return the pairs of twins.txt."""
    found = []
    for block in re.split(r"^#### ", (DATA / "twins.txt").read_text("utf-8"), flags=re.MULTILINE)[1:]:
        head, bad, good = re.split(r"^==== (?:bad|good)[^\S\n]?", block, flags=re.MULTILINE)
        rule, place = head.split()
        line, _, bad = bad.partition("\n")
        cluster = place.removeprefix("cluster=") if place.startswith("cluster=") else None
        found.append(
            Twin(rule, None if cluster else place, cluster, int(line), raw_of(bad), raw_of(good.removeprefix("\n")))
        )
    return found


def recorded(name: str) -> list[Recorded]:
    """Return the scripts of a recording, with what the server answered."""
    found = []
    for block in re.split(r"^#### ", (DATA / name).read_text("utf-8"), flags=re.MULTILINE)[1:]:
        title, _, rest = block.partition("\n")
        script = "".join(f"{line[4:]}\n" for line in rest.splitlines() if line.startswith("    "))
        code = re.search(r"^# rc (\d+)", rest, re.MULTILINE)
        assert code is not None, title
        found.append(Recorded(title, raw_of(script), int(code[1]), rest))
    return found


def public() -> list[tuple[str, bytes]]:
    """Return (dialect and machine, script) of public.txt: headers as people really write them."""
    blocks = re.split(r"^#### ", (DATA / "public.txt").read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [(block.partition("\n")[0], block.partition("\n")[2].encode()) for block in blocks]


def right_launches() -> list[tuple[str, bytes]]:
    """Return (name, script) of right_launches.txt: processes that are started as they should be."""
    blocks = re.split(r"^#### ", (DATA / "right_launches.txt").read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [(block.partition("\n")[0], block.partition("\n")[2].encode()) for block in blocks]
