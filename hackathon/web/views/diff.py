"""Compare two runs: request, source, environment, and results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.index.memory import Memory
from hackathon.index.record import RunEntry
from hackathon.index.studies import run_key
from hackathon.logs.final import metric_unit
from hackathon.runs.directory import files_of
from hackathon.runs.record import read_record
from hackathon.scaling.directions import known_direction
from hackathon.scaling.show import number
from hackathon.scaling.show import state as state_word
from hackathon.text.messages import N_, _
from hackathon.text.numbers import finite
from hackathon.web.page import sanitize as clean
from hackathon.web.page.pages import span
from hackathon.web.views.run import allowed, marked
from hackathon.web.views.run_view import HOSTS, counted, end_metrics, end_texts, mapping, request_rows

_ENV_TEXTS = {
    "python": N_("Python"),
    "packages": N_("Packages"),
    "mpi": N_("MPI"),
    "modules": N_("Modules"),
    "gpus": N_("GPUs of a node"),
    "cores": N_("Cores"),
    "kernel": N_("Kernel"),
    "interfaces": N_("Network interfaces"),
}

FILE, FILE_LINES = 200_000, 3000
"""The most bytes and lines of a file whose lines are compared."""
SHOWN, SHOWN_IN_ALL = 400, 1500
"""Lines of a difference that are displayed, of one file and of all."""
FILES = 100
"""The most differing files that are listed."""
NONE = "–"


@dataclass(frozen=True)
class DiffSide:
    """One of the two runs."""

    key: str
    id: str
    name: str
    team: str
    state: str
    processes: int
    created: float | None
    note: str


@dataclass(frozen=True)
class DiffEntry:
    """One difference."""

    name: str
    left: str
    right: str
    ratio: str = ""
    """Right ÷ left, if both are numbers."""


@dataclass(frozen=True)
class DiffSection:
    """The differences of one kind."""

    name: str
    """`results`, `request`, `environment`, `source`."""
    changes: tuple[DiffEntry, ...]
    same: int
    """Number of equal values, which are not displayed."""


@dataclass(frozen=True)
class FileChange:
    """One file of the source that differs."""

    name: str
    kind: str
    """`changed`, `new` (only on the right), `gone` (only on the left)."""
    lines: tuple[tuple[str, str], ...] = ()
    """(kind, line) of the unified difference."""
    left_out: int = 0
    """Its lines that are not displayed."""
    why: str = ""
    """Why there are no lines: binary, too long, not stored; empty if there are some."""


@dataclass(frozen=True)
class DiffPage:
    """The page of two runs."""

    left: DiffSide
    right: DiffSide
    parts: tuple[DiffSection, ...]
    files: tuple[FileChange, ...]
    same_files: int
    files_left: int = 0
    """Differing files that are not listed."""

    @property
    def swapped(self) -> str:
        """The key of the page with left and right exchanged."""
        return f"{self.right.key}|{self.left.key}"


def values(source: Catalog, key: str) -> dict[str, Any] | None:
    """Return the values of the page of two runs, key `<run>|<run>`; None unless both are in the index."""
    for at in (at for at, letter in enumerate(key) if letter == "|"):
        left, right = source.find(key[:at]), source.find(key[at + 1 :])
        if left is not None and right is not None:
            rules = allowed(source)
            return {"view": diff_page(left, right, source.memory, with_source=rules is None or rules.source)}
    return None


def diff_page(left: RunEntry, right: RunEntry, memory: Memory, *, with_source: bool = True) -> DiffPage:
    """Return the differences between two runs, every text cleaned; unreadable files leave gaps.

    `with_source` False: files that differ are listed, without their lines.
    """
    first, second = RunSide(left, memory), RunSide(right, memory)
    files, same_files, left_over = _files(first, second)
    if not with_source:
        files = [replace(file, lines=(), left_out=0) for file in files]
    page = DiffPage(
        _side(left),
        _side(right),
        (
            _part("results", first.results(), second.results()),
            _part("request", first.request(), second.request()),
            _part("environment", first.environment(), second.environment()),
            _part("source", first.source(), second.source()),
        ),
        tuple(files),
        same_files,
        left_over,
    )
    cleaned: DiffPage = clean.value(page)
    return cleaned


def _side(summary: RunEntry) -> DiffSide:
    return DiffSide(
        run_key(summary),
        summary.id,
        summary.name,
        summary.team,
        summary.state,
        summary.processes,
        summary.created,
        summary.note,
    )


Value = tuple[str, float | None]
"""A value for display, and as a number if it can have a ratio."""


class RunSide:
    """One run's files, each read on demand."""

    def __init__(self, summary: RunEntry, memory: Memory) -> None:
        self.summary, self.memory = summary, memory
        self.path = Path(summary.project) / "runs" / summary.id
        self.inside = files_of(self.path)
        self.record = read_record(self.path, self.inside.json)
        self.origin = self.inside.json("source.json")

    def results(self) -> dict[str, Value]:
        """Return the run's results."""
        summary = self.summary
        results: dict[str, Value] = {_("State"): (state_word(summary.state), None)}
        results[_("Reason")] = (summary.reason or NONE, None)
        if summary.seconds is not None:
            results[_("Duration")] = (span(summary.seconds), summary.seconds)
        numbers = end_metrics(self.path, self.inside, self.record, self.memory).values
        first = (summary.metric, "loss", "accuracy")
        names = [*(name for name in first if name in numbers), *sorted(set(numbers) - set(first))]
        results |= {name: (number(numbers[name]), numbers[name]) for name in names}
        return results | {name: (text, None) for name, text in end_texts(self.inside)}

    def more_is_better(self, name: str) -> bool | None:
        """Return whether more of one of its results is better; None if that is not known, or it is not a number."""
        if name not in end_metrics(self.path, self.inside, self.record, self.memory).values:
            return None
        check = self.record.check.to_json() if self.record.check is not None else None
        return known_direction(name, check, metric_unit(self.record.metrics, name))

    def request(self) -> dict[str, Value]:
        """Return the run's request: parameters first, then the command."""
        rows = [(row.name, row.value) for row in request_rows(self.record)]
        first = [row for row in rows if row[0].startswith(_("parameter {name}", name=""))]
        words = " ".join(self.record.command)
        remaining = [row for row in rows if row not in first]
        return {name: (value, None) for name, value in [*first, ("command", words), *remaining] if value}

    def environment(self) -> dict[str, Value]:
        """Return the environment of its hosts: settings, then packages, each with its different values."""
        settings: dict[str, dict[str, None]] = {}
        packages: dict[str, dict[str, None]] = {}
        for name in [name for name in self.inside.names("env") if name.endswith(".json")][:HOSTS]:
            host = self.inside.json(f"env/{name}")
            # the kernel's line contains the host name, which is not a difference
            kernel = " ".join(word for word in str(host.get("kernel") or "").split() if word != host.get("host"))
            listed = {
                "python": str(host.get("python") or ""),
                "mpi": str(host.get("mpi") or ""),
                "gpus": counted(host.get("gpus")),
                "cores": str(host.get("cores") or ""),
                "kernel": kernel,
                "modules": _lines(host.get("modules")),
                "interfaces": _lines(host.get("interfaces")),
            }
            for key, value in listed.items():
                if value:
                    settings.setdefault(_(_ENV_TEXTS[key]), {})[value] = None
            for key, version in mapping(host.get("packages")).items():
                packages.setdefault(str(key), {})[str(version)] = None
        return {name: (", ".join(texts), None) for name, texts in [*settings.items(), *sorted(packages.items())]}

    def source(self) -> dict[str, Value]:
        """Return the origin of its program, without the files."""
        git = mapping(self.origin.get("git"))
        facts = {
            _("git commit"): str(git.get("commit") or ""),
            _("git branch"): str(git.get("branch") or ""),
            _("SHA-256 of the source"): str(self.origin.get("digest") or ""),
        }
        return {name: (value, None) for name, value in facts.items() if value}

    def hashes(self) -> dict[str, str]:
        """Return path → SHA-256 of its files, `→ target` of its links."""
        files = {str(name): str(digest) for name, digest in mapping(self.origin.get("files")).items()}
        return files | {str(name): f"→ {to}" for name, to in mapping(self.origin.get("links")).items()}

    def lines_of(self, name: str) -> list[str] | str:
        """Return the lines of a file of its copy, or why there are none (a message's id)."""
        raw = self.inside.read(f"source/{name}", FILE + 1)
        if raw is None:
            return N_("its content was not saved")
        if b"\0" in raw:
            return N_("not a text file")
        lines = raw.decode("utf-8", "replace").splitlines()
        return N_("too long to compare line by line") if len(raw) > FILE or len(lines) > FILE_LINES else lines


def _lines(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else ""


def _part(name: str, left: Mapping[str, Value], right: Mapping[str, Value]) -> DiffSection:
    changes, same = [], 0
    for key in dict.fromkeys((*left, *right)):
        (text, value), (other, new) = left.get(key, (NONE, None)), right.get(key, (NONE, None))
        if (text, value) == (other, new):
            same += 1
            continue
        first, second = finite(value), finite(new)
        ratio = _ratio(second / first) if first and second is not None else ""
        changes.append(DiffEntry(key, text, other, ratio))
    return DiffSection(name, tuple(changes), same)


def _ratio(value: float) -> str:
    return f"{value:.3f} ×" if 0.01 <= abs(value) < 100 else f"{number(value, 3)} ×"


def _files(left: RunSide, right: RunSide) -> tuple[list[FileChange], int, int]:
    """Return the files that differ, the number of equal ones, and the number of further differing ones."""
    then, now = left.hashes(), right.hashes()
    names = sorted({*then, *now})
    differing = [name for name in names if then.get(name) != now.get(name)]
    room = SHOWN_IN_ALL
    changes = []
    for name in differing[:FILES]:
        change = _file(left, right, name, then, now, min(SHOWN, room))
        room -= len(change.lines)
        changes.append(change)
    return changes, len(names) - len(differing), max(0, len(differing) - FILES)


def _file(
    left: RunSide, right: RunSide, name: str, then: Mapping[str, str], now: Mapping[str, str], room: int
) -> FileChange:
    kind = "gone" if name not in now else "new" if name not in then else "changed"
    if any(digest.startswith("→ ") for digest in (then.get(name, ""), now.get(name, ""))):
        return FileChange(name, kind, why=f"{then.get(name, NONE)} · {now.get(name, NONE)}")
    before: list[str] | str = left.lines_of(name) if name in then else []
    after: list[str] | str = right.lines_of(name) if name in now else []
    if isinstance(before, str) or isinstance(after, str):
        why = before if isinstance(before, str) else str(after)
        return FileChange(name, kind, why=_(why))
    lines = marked(_without_head(unified_diff(before, after, lineterm="", n=3)))
    if not lines:
        return FileChange(
            name,
            kind,
            why=_("its lines are equal; line endings or encoding may differ") if kind == "changed" else _("empty file"),
        )
    return FileChange(name, kind, tuple(lines[:room]), max(0, len(lines) - room))


def _without_head(lines: Iterable[str]) -> Sequence[str]:
    """Return a unified difference without the two lines with the file's name, which the page shows."""
    return list(lines)[2:]
