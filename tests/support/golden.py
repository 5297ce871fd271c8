"""The reviewed job scripts by part: every header, body and library once, the values by what decides them, and a table.

headers/NAME.sh, bodies/NAME.sh   a job.sh is a header and a body, with its values below the body's lines "Values …"
libraries/NAME.sh                 a paragraph of hackathon.sh, each distinct one once
libraries.tsv                     name of a hackathon.sh → its paragraphs
scripts.tsv                       recipe, cluster, launcher → header, body, library
values.txt                        sections of values; the first section of a script that has a value counts
rank.sh                           the same for all
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from support.paths import TESTS

SCRIPTS = TESTS / "golden" / "scripts"
TABLE = "scripts.tsv"
VALUES = "values.txt"
LIBRARIES = "libraries.tsv"
_SCRIPT = re.compile(
    r"(?P<header>#!.*?\n)(?P<begin>\n*# Values [^\n]*\n# shellcheck [^\n]*\n)(?P<values>HK_.*?\n)(?P<end>\n# .*)",
    re.DOTALL,
)
_FUNCTION = re.compile(r"^(hk_\w+)\(\)", re.MULTILINE)
_VALUES_MARK = re.compile(r"^# Values .*\n# shellcheck .*\n", re.MULTILINE)
_LEVELS = (
    (), ("recipe",), ("cluster",), ("launcher",), ("recipe", "launcher"), ("cluster", "launcher"),
    ("recipe", "cluster", "launcher"),
)  # fmt: skip
"""What may decide a value, in the order in which sections count."""
_ORDER = "order"
_ABSENT = "# no "


class Case(NamedTuple):
    """What a script is rendered for."""

    recipe: str
    cluster: str
    launcher: str

    def __str__(self) -> str:
        return "-".join(self)


class Rendered(NamedTuple):
    """Two scripts, and what their parts may be called: the plainest name first, the last one is the script's own."""

    script: str
    library: str
    header_names: Sequence[str]
    body_names: Sequence[str]
    library_names: Sequence[str]


class Parts(NamedTuple):
    """The files that hold a script's header and body, and the name of its library."""

    header: str
    body: str
    library: str


class Reviewed:
    """The scripts that a set of files describes."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        rows = [line.split("\t") for line in files[TABLE].splitlines()[1:]]
        self.parts = {Case(*row[:3]): Parts(f"headers/{row[3]}.sh", f"bodies/{row[4]}.sh", row[5]) for row in rows}
        self._libraries = {
            name: "".join(files[f"libraries/{paragraph}.sh"] for paragraph in paragraphs)
            for name, *paragraphs in (line.split("\t") for line in files[LIBRARIES].splitlines())
        }
        self._sections = {
            title: text.removesuffix("\n")
            for title, text in re.findall(r"^\[([^\n]*)\]\n(.*?)(?=\n\[|\Z)", files[VALUES], re.DOTALL | re.MULTILINE)
        }

    @property
    def rank(self) -> str:
        """`rank.sh`, the same for all."""
        return self._files["rank.sh"]

    def script(self, case: Case) -> str:
        """Return a job.sh, put together from its parts."""
        header, body = (self._files[name] for name in self.parts[case][:2])
        values: dict[str, str] = {}
        for level in _LEVELS:
            values = _by_name(self._sections.get(_title(level, case), "")) | values
        lines = [values[name] for name in self._sections[_ORDER].splitlines() if name in values]
        block = "".join(f"{line}\n" for line in lines if not line.startswith(_ABSENT))
        mark = _VALUES_MARK.search(body)
        assert mark, f"{self.parts[case].body} has no line '# Values …'"
        return header + body[: mark.end()] + block + body[mark.end() :]

    def library(self, case: Case) -> str:
        """Return the hackathon.sh of a script."""
        return self._libraries[self.parts[case].library]

    def libraries(self) -> dict[str, str]:
        """Return every hackathon.sh by its name."""
        return dict(sorted(self._libraries.items()))

    def assignments(self) -> list[str]:
        """Return all assignments of all scripts, each once."""
        blocks = [text for title, text in self._sections.items() if title != _ORDER]
        lines = {line for block in blocks for line in _by_name(block).values()}
        return sorted(line for line in lines if not line.startswith(_ABSENT))

    def of_each_pair(self) -> dict[Case, str]:
        """Return a script of each pair of header and body: the first that has both."""
        first = {parts[:2]: case for case, parts in reversed(self.parts.items())}
        return {case: self.script(case) for case in sorted(first.values())}

    def of_each_body(self) -> dict[str, str]:
        """Return a script of each body by the body's file: the first that has it."""
        first = {parts.body: case for case, parts in reversed(self.parts.items())}
        return {name: self.script(case) for name, case in sorted(first.items())}


def files_of(rendered: Mapping[Case, Rendered]) -> dict[str, str]:
    """Return the files that describe scripts: path below the folder → text.

    Raises ValueError for a script without values.
    """
    headers: dict[str, Sequence[str]] = {}
    bodies: dict[str, Sequence[str]] = {}
    libraries: dict[str, Sequence[str]] = {}
    texts: dict[Case, tuple[str, str, str]] = {}
    values: dict[Case, dict[str, str]] = {}
    for case, (script, library, header_names, body_names, library_names) in sorted(rendered.items()):
        match = _SCRIPT.fullmatch(script)
        if match is None:
            raise ValueError(f"the script {case} has no block of values between '# Values …' and '# …'")
        texts[case] = (match["header"], match["begin"] + match["end"], library)
        headers.setdefault(texts[case][0], header_names)
        bodies.setdefault(texts[case][1], body_names)
        libraries.setdefault(library, library_names)
        values[case] = _by_name(match["values"].removesuffix("\n"))
    header_of, body_of, library_of = _named(headers), _named(bodies), _named(libraries)
    rows = [
        (*case, header_of[header], body_of[body], library_of[library])
        for case, (header, body, library) in texts.items()
    ]
    return {
        **{f"headers/{name}.sh": text for text, name in header_of.items()},
        **{f"bodies/{name}.sh": text for text, name in body_of.items()},
        **_library_files(library_of),
        TABLE: "".join("\t".join(row) + "\n" for row in [(*Case._fields, *Parts._fields), *rows]),
        VALUES: _values_file(values),
    }


def _library_files(library_of: Mapping[str, str]) -> dict[str, str]:
    """Return the files of the paragraphs, called after their first function, and the table of the libraries.

    Where several paragraphs have the same function, the first library with one is part of its name.
    """
    paragraphs = {name: re.split(r"(?<=\n\n)", text) for text, name in library_of.items()}  # each with its blank line
    names: dict[str, Sequence[str]] = {}
    for library, own in sorted(paragraphs.items()):
        for number, paragraph in enumerate(own, 1):
            match = _FUNCTION.search(paragraph)
            plain = match[1].replace("_", "-") if match else f"text-{number}"
            names.setdefault(paragraph, (plain, f"{plain}-{library}", f"{plain}-{number}-{library}"))
    name_of = _named(names)
    rows = [[library, *(name_of[paragraph] for paragraph in own)] for library, own in sorted(paragraphs.items())]
    return {
        **{f"libraries/{name}.sh": text for text, name in name_of.items()},
        LIBRARIES: "".join("\t".join(row) + "\n" for row in rows),
    }


def read_files(folder: Path = SCRIPTS) -> dict[str, str]:
    """Return all files of a folder: path below it → text."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in paths}


def write_files(files: Mapping[str, str], folder: Path = SCRIPTS) -> None:
    """Write files into a folder and delete all others there."""
    for name in set(read_files(folder)) - set(files):
        (folder / name).unlink()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


def reviewed() -> Reviewed:
    """Return the reviewed scripts."""
    return Reviewed(read_files())


def _named(texts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return a name for each text: the first of those it may have which no other text may have as well."""
    names = {
        text: next(name for rank, name in enumerate(own) if [other[rank] for other in texts.values()].count(name) == 1)
        for text, own in texts.items()
    }
    if len(set(names.values())) < len(names):
        raise ValueError(f"two parts have the same name: {sorted(names.values())}")
    return names


def _by_name(block: str) -> dict[str, str]:
    """Return the assignments of a block by the variable's name. A quoted value may go on in further lines."""
    lines = re.split(r"\n(?=HK_\w+=|# no HK_)", block) if block else []
    return {line.removeprefix(_ABSENT).partition("=")[0]: line for line in lines}


def _title(level: Sequence[str], case: Case) -> str:
    return ", ".join(f"{field} {getattr(case, field)}" for field in level) or "every script"


def _values_file(values: Mapping[Case, Mapping[str, str]]) -> str:
    """Return the sections: each value stands in the first level on which all scripts it is still open for agree."""
    before: dict[str, dict[str, None]] = {}
    for block in values.values():
        for former, name in zip([None, *block], block, strict=False):
            before.setdefault(name, {}).update({former: None} if former else {})
    order = list(TopologicalSorter(before).static_order())
    sections: list[dict[str, list[str]]] = [defaultdict(list) for _ in _LEVELS]
    for name in order:
        entries = _entries(name, {case: block.get(name) for case, block in values.items()})
        last = max(rank for rank, _, value in entries if value is not None)
        for rank, title, value in entries:
            if value is not None:
                sections[rank][title].append(value)
            elif rank < last:  # a later section may have the value for other scripts
                sections[rank][title].append(_ABSENT + name)
    blocks = {_ORDER: order} | {title: lines for level in sections for title, lines in sorted(level.items())}
    return "\n".join("\n".join([f"[{title}]", *lines, ""]) for title, lines in blocks.items())


def _entries(name: str, still_open: dict[Case, str | None]) -> list[tuple[int, str, str | None]]:
    """Return level, section and assignment of one variable; None: the section's scripts do not have it."""
    entries = []
    for rank, level in enumerate(_LEVELS):
        groups: dict[str, set[str | None]] = defaultdict(set)
        for case, value in still_open.items():
            groups[_title(level, case)].add(value)
        entries += [(rank, title, *group) for title, group in groups.items() if len(group) == 1]
        still_open = {case: value for case, value in still_open.items() if len(groups[_title(level, case)]) > 1}
    return entries
