"""The directory of a run; how runs are named, listed and selected."""

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.access.beneath import leads_to_others
from hackathon.access.guarded_folder import GuardedFolder, Refusal
from hackathon.access.guarded_path import GuardedPath
from hackathon.runs.record import RunRecord, StudyPoint, read_record
from hackathon.text.errors import RequestError
from hackathon.text.files import LARGEST, write_json
from hackathon.text.messages import Message, _

if TYPE_CHECKING:
    from hackathon.config.records import Scalar
    from hackathon.jobs.request import Request

_RUNS_UNKNOWN_TEXTS = {
    "run": Message("runs.run_unknown", "there is no run {text!r} in {folder}", hint="`hackathon status` lists them"),
    "study": Message("runs.study_unknown", "there is no study {text!r} in {folder}"),
}

_RUNS_AMBIGUOUS_TEXTS = {
    "run": Message(
        "runs.run_ambiguous",
        "{count} runs match {text!r}:\n{names}",
        hint="give more of the id; its last eight letters are always enough",
    ),
    "study": Message("runs.study_ambiguous", "{count} studies match {text!r}:\n{names}"),
}

_RUNS_UNKNOWN_NEAR_TEXTS = {
    "run": Message("runs.run_unknown_near", "there is no run {text!r}; did you mean\n{names}"),
    "study": Message("runs.study_unknown_near", "there is no study {text!r}; did you mean\n{names}"),
}

PARTIAL = ".partial-"
"""Prefix of the hidden name of an incomplete run directory."""
REMOVED = ".removed"
"""Hidden folder for the records of deleted runs: their use still counts."""
BY_HAND = "by-hand."
"""Prefix of the job id that a job script gives itself without a scheduler."""
STEPS_FOLDER = "steps"
"""Folder of a run with the files of its ranks' recorders."""
READ = ("client", "claim", "events", "logs", "metrics", "telemetry", "env", "stacks", STEPS_FOLDER, "profile",
        "final.json", "request.json")  # fmt: skip
"""Files and folders of a run that the toolkit reads for its state, numbers and cause of failure."""
SURE = 4
"""Number of characters from which any part of an id may name it."""
NAME_LENGTH = 40
"""Characters of a recipe's or project's name in a run id."""
_ID = re.compile(r"\d{8}-\d{6}-")
"""The beginning of the id of a run or study."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_SUBMITTING = re.compile(r"submitting(?:-(\d{1,6}))?\.json\Z")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def safe_name(name: str, fallback: str = "run") -> str:
    """Return a name for files made of `A-Za-z0-9._-` that begins with a letter or digit, else `fallback`."""
    return _UNSAFE.sub("-", name).lstrip("-._")[:NAME_LENGTH].strip("-._") or fallback


def new_id(words: str, now: float | None = None) -> str:
    """Return `YYYYMMDD-HHMMSS-<words>-<8 random>` (local time, 40 random bits in base32)."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{moment}-{words}-{''.join(_LETTERS[byte & 31] for byte in os.urandom(8))}"


def new_run_id(name: str, processes: int, now: float | None = None) -> str:
    """Return a new run id: `YYYYMMDD-HHMMSS-<name>-<processes>p-<8 random>`; `now` is in seconds since 1970.

    Without a known number of processes, the name omits it.
    """
    return new_id(f"{safe_name(name)}-{int(processes)}p" if processes else safe_name(name), now)


def files_of(run: Path | str) -> GuardedFolder:
    """Return a reader for the directory of a run or study, which may contain anything.

    The links of an adopted run lead to the folder of its job, which its records name. Files there are read if they
    belong to the owner of the run.
    """
    return GuardedFolder(run, recorded=partial(_job_folder, str(run)))


def _job_folder(run: str) -> str | None:
    files = GuardedFolder(run)
    request = files.json("request.json", LARGEST, "surrogateescape")
    folder = request.get("source") if request.get("in_place") else files.json("client/adopted.json").get("directory")
    return folder if isinstance(folder, str) and folder.startswith("/") else None


def guarded(run: Path) -> GuardedPath:
    """Return the path of a run's directory; everything beneath it is opened by the rules of `files_of`."""
    return run if isinstance(run, GuardedPath) else GuardedPath(run, folder=files_of(run))


class NamedDirectory:
    """A directory named by an id; its files are opened by the rules of `files_of`."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = guarded(path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    @property
    def id(self) -> str:
        """The directory's name."""
        return self.path.name


class RunDirectory(NamedDirectory):
    """A run. Its files are read on first use; only facts under `client/` are written."""

    __slots__ = ("_record",)

    def __init__(self, path: Path, record: RunRecord | None = None) -> None:
        """`record`: the run's record, when the caller has read it already."""
        super().__init__(path)
        self._record = record

    @property
    def files(self) -> GuardedFolder:
        """The reader of its files: `run.files.text("logs/job.log")`."""
        return self.path.folder

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the directory and its folders open while the block reads many files, by the same rules.

        If a folder cannot be opened, its files count as missing, as usual.
        """
        path = self.path
        with ExitStack() as opened:
            with suppress(OSError):
                self.path = GuardedPath(path, folder=opened.enter_context(self.files.held()))
            try:
                yield
            finally:
                self.path = path

    def refused(self) -> list[Refusal]:
        """Return the entries that the toolkit refuses to read, such as links that lead outside.

        Pages, `logs` and `diagnose` list them, because the cause of a failure may be in there.
        """
        return self.files.refused(READ)

    @property
    def job_name(self) -> str:
        """The job's name, `hk-<8 random>`: at most 15 characters, the limit of older PBS."""
        return f"hk-{self.id[-8:]}"

    def known(self) -> RunRecord:
        """Return the run's record as far as it can be read; `readable` is False without a request."""
        if self._record is None or not self._record.readable:
            self._record = read_record(self.path, lambda name: self.files.value(name, LARGEST, "surrogateescape"))
        return self._record

    def record(self) -> RunRecord:
        """Return the run's record. Raises RequestError: not a run, broken, or written by a newer toolkit."""
        record = self.known()
        if record.newer:
            raise RequestError(
                "runs.newer_record",
                "run {run} was made by a newer hackathon ({toolkit}, records of version {version}), which this "
                "one cannot read",
                hint="Update hackathon: `hackathon docs install` shows how.",
                run=self.id,
                version=record.newer,
                toolkit=record.toolkit_version,
            )
        if not record.readable:
            raise RequestError(
                "runs.no_record",
                "{path} is not a run directory: request.json is missing or damaged",
                run=self.id,
                path=self.path,
            )
        return record

    def request(self) -> "Request":
        """Return the resolved request. Raises RequestError when it is missing or lacks a field."""
        from hackathon.jobs.request import Request

        try:
            return Request.from_json(dict(self.record().raw))
        except TypeError as error:
            raise RequestError(
                "runs.no_record",
                "{path} is not a run directory: request.json is missing or damaged",
                run=self.id,
                path=self.path,
            ) from error

    def client(self, name: str) -> dict[str, Any]:
        """Return the fact `client/<name>.json`, empty when it is missing or not a JSON object."""
        return self.files.json(f"client/{name}.json", LARGEST, "surrogateescape")

    def write_client(self, name: str, value: dict[str, Any]) -> None:
        """Write the fact `client/<name>.json` by rename, as readable as the folder is. Raises OSError."""
        path = self.path / "client" / f"{name}.json"
        write_json(path, value)
        path.chmod(file_mode(path.parent))
        self.files.appeared(f"client/{name}.json")  # it was looked up before

    def submitting(self) -> tuple[int, dict[str, Any]]:
        """Return the number of the latest attempt to submit (0: none) and the fact written before it.

        `client/submitting.json` is attempt 1, `client/submitting-2.json` attempt 2; O_EXCL makes each number unique.
        """
        names = self.files.kinds("client")
        latest = max((int(match[1] or 1) for name in names if (match := _SUBMITTING.match(name))), default=0)
        return latest, self.client(submitting_name(latest)) if latest else {}

    def claim(self) -> str | None:
        """Return the id of the job that claimed this run, None when none has started."""
        return self.files.text("claim/job_id", 4096).strip() or None

    def job_id(self) -> str | None:
        """Return the job id: of the job that claimed the run, else as submitted, recovered or adopted; else None."""
        claimed = self.claim()
        if claimed:
            return claimed
        for name in ("submitted", "recovered", "adopted"):
            job_id = self.client(name).get("job_id")
            if job_id:
                return str(job_id)
        return None

    @property
    def created(self) -> float:
        """When the directory was created, in seconds since 1970; from the run id when the fact is missing."""
        return self.known().created

    @property
    def note(self) -> str:
        """The owner's note."""
        return self.record().note

    @property
    def tags(self) -> tuple[str, ...]:
        """The owner's tags."""
        return self.record().tags

    @property
    def parent(self) -> str | None:
        """The id of the run that this one follows or repeats."""
        return self.record().parent or None

    @property
    def study(self) -> StudyPoint | None:
        """The point of a study that it was created for."""
        return self.record().study

    @property
    def settings(self) -> "dict[str, Scalar]":
        """What its study varies besides the process count; empty for other runs and for one without a record."""
        point = self.known().study
        return dict(point.settings) if point is not None else {}

    def source(self) -> GuardedPath:
        """Return the folder that the program runs in: the snapshot, or the live folder of an in-place run."""
        record = self.record()
        if not record.in_place:
            return self.path / "source"
        folder = Path(record.source)
        return GuardedPath(folder, folder=GuardedFolder(folder, owners=self.files.owners()))

    def owned(self) -> bool:
        """Return whether the current user owns the run: only the owner writes in it."""
        try:
            return self.path.stat().st_uid == os.geteuid()
        except OSError:
            return False


def is_refused(run: RunDirectory, attempt: int) -> dict[str, Any]:
    """Return the fact that the scheduler refused this attempt, empty when it did not."""
    refused = run.client("refused")
    return refused if refused.get("attempt") == attempt else {}


def submitting_name(attempt: int) -> str:
    """Return the name of the fact that is written before attempt number `attempt` (from 1) to submit."""
    return "submitting" if attempt == 1 else f"submitting-{attempt}"


def file_mode(folder: Path) -> int:
    """Return the mode for a file in a folder: group and others may read it if they may read the folder."""
    return 0o600 | (folder.stat().st_mode & 0o044)


def list_ids(folder: Path) -> list[str]:
    """Return the names of all runs or studies in a folder, newest first; none for a missing folder.

    It needs one `scandir` and no `stat`: file systems in use list the type of an entry. Links of other users to files
    that are not theirs are left out, and so are folders of the user's own (TensorBoard writes into `runs`, too). Raises
    RequestError when the folder is such a link or is unreadable.
    """
    if leads_to_others(str(folder)) and os.path.exists(folder):  # noqa: PTH110
        raise RequestError(
            "runs.folder_unreadable",
            "{path} cannot be read: {what}",
            path=folder,
            what=_("it is a link that leads out of the folder"),
        )
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name[0] != "." and _is_folder(entry) and is_record(entry)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise RequestError(
            "runs.folder_unreadable", "{path} cannot be read: {what}", path=folder, what=error.strerror
        ) from error
    return sorted(names, reverse=True)


def is_record(entry: "os.DirEntry[str]") -> bool:
    """Return whether an entry of `runs` or `studies` is the toolkit's: by its name, or a folder by its files.

    Runs that were moved to another disk have links in their places.
    """
    if entry.is_symlink() or not entry.is_dir():
        return entry.is_symlink() and _ID.match(entry.name) is not None
    return _ID.match(entry.name) is not None or any(
        os.path.lexists(f"{entry.path}/{name}") for name in ("request.json", "study.json", "client")
    )


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    """Return whether an entry is a folder; False for a link to itself and for an inaccessible target."""
    try:
        return entry.is_dir() and not (entry.is_symlink() and leads_to_others(entry.path))
    except OSError:
        if not entry.is_symlink():
            raise
        return False


def find_runs(runs_folder: Path) -> list[RunDirectory]:
    """Return all runs of a folder, newest first."""
    return [RunDirectory(runs_folder / name) for name in list_ids(runs_folder)]


def find_run(text: str, runs_folder: Path) -> RunDirectory:
    """Return the run that `text` names: a unique part of its id, or the path of its directory.

    Raises RequestError with the candidates when several match, and with similar names when none does.
    """
    path = Path(text)
    if os.sep in text and "\0" not in text and os.access(path / "request.json", os.R_OK):
        return RunDirectory(path.absolute())
    return RunDirectory(runs_folder / pick(text, list_ids(runs_folder), "run", runs_folder))


def meant(text: str, names: Sequence[str]) -> list[str]:
    """Return the ids that a text names: exactly; else as complete parts; else as a substring.

    A text shorter than SURE must be a complete part: `4p` must not match random characters such as `h24ponmd`.
    """
    text = text.strip().rstrip("/")
    if not text or text in names:
        return [text] if text else []
    exact = [name for name in names if f"-{text}-" in f"-{name}-"]
    return exact or [name for name in names if len(text) >= SURE and text in name]


def pick(text: str, names: Sequence[str], kind: str, folder: Path) -> str:
    """Return the only name that `text` names according to `meant`; `kind` (run, study) selects the messages.

    Raises RequestError when several or none match.
    """
    text = text.strip().rstrip("/")
    matches = meant(text, names)
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise RequestError(_RUNS_AMBIGUOUS_TEXTS[kind], text=text, count=len(matches), names=_shown(matches))
    near = [name for name in names if text and text in name][:3] or _near(text, names)
    if near:
        raise RequestError(_RUNS_UNKNOWN_NEAR_TEXTS[kind], text=text, names=_shown(near))
    raise RequestError(_RUNS_UNKNOWN_TEXTS[kind], text=text, folder=folder)


def _shown(names: Sequence[str]) -> str:
    more = ["…"] if len(names) > 8 else []
    return "\n".join(f"  {name}" for name in [*names[:8], *more])


def _near(text: str, names: Iterable[str]) -> list[str]:
    """Return ids with a part (the recipe, the random characters) similar to `text`, newest first."""
    import difflib

    listed = list(names)[:1000]
    parts = {part: name for name in reversed(listed) for part in (name, name[-8:], name[16:-9])}
    close = difflib.get_close_matches(text, parts, n=3, cutoff=0.6)
    return list(dict.fromkeys(parts[part] for part in close))
