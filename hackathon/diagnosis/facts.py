"""Checks of a run's own records that a rule names: `fact: state:TIMEOUT`, `fact: silent:same-data`."""

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.diagnosis.check_command import NOT_KNOWN, commands_of
from hackathon.diagnosis.findings import Evidence
from hackathon.logs.metrics import rank_files, rank_of
from hackathon.logs.values import number, whole
from hackathon.runs import events as written
from hackathon.runs.directory import STEPS_FOLDER, RunDirectory
from hackathon.runs.record import RunRecord
from hackathon.runs.states import RunStatus
from hackathon.text.files import objects, open_regular, read_json
from hackathon.text.json_fields import moment_of
from hackathon.text.messages import _
from hackathon.text.units import format_size, format_walltime

if TYPE_CHECKING:
    from hackathon.logs.meter_files import MeterFiles
    from hackathon.logs.recorded import RankRecording

_OF_REQUEST = (
    "name", "recipe", "framework", "cluster", "scheduler", "queue", "group", "reservation", "nodes", "processes",
    "processes_per_node", "threads", "gpus_per_node", "launcher", "starter", "mpi", "mode",
)  # fmt: skip


METRICS = 16 << 20
"""Bytes of the Meters' files in memory, about; as objects they take ten times as much."""
LEAST = 2048
"""Bytes of each end of a rank's file that are read with any number of ranks."""
TELEMETRY = 32 << 20
"""Bytes of all hosts' telemetry tables in memory, about."""
LONGEST_HEAD = 1000
"""Bytes of a table's first line, at most."""
RANKS = 64
"""Ranks whose first step is read: all ranks make it together."""


class RunFacts:
    """The records of a run. Each file is read on first use and cached.

    `job_events`, `rank_events`, `metrics`, `telemetry` and `hosts` belong to the newest attempt.
    """

    def __init__(
        self,
        path: Path,
        status: RunStatus | None = None,
        record: RunRecord | None = None,
        meters: "MeterFiles | None" = None,
    ) -> None:
        """`record` and `meters`: the run's record and Meter files, when the caller has read them already."""
        self.run = RunDirectory(path, record)
        self.path = self.run.path
        self.status = status
        self.record = record or self.run.known()
        self._meters = meters

    @cached_property
    def attempt(self) -> int:
        """The newest attempt; each requeue adds one."""
        if self.status is not None:
            return self.status.attempt
        return max((_attempt(event) for event in written.job_events(self.path)), default=1)

    @cached_property
    def job_events(self) -> list[dict[str, Any]]:
        """The job's events in file order."""
        return [event for event in written.job_events(self.path) if _attempt(event) == self.attempt]

    @cached_property
    def rank_events(self) -> dict[int, list[dict[str, Any]]]:
        """Rank → its events in file order."""
        events = written.rank_events(self.path)
        return {rank: [event for event in listed if _attempt(event) == self.attempt] for rank, listed in events.items()}

    @cached_property
    def first_told(self) -> float | None:
        """Time of the first signal that a rank got from outside; None without one."""
        listed = (event for events in self.rank_events.values() for event in events if event.get("event") == "told")
        return min((moment for event in listed if (moment := moment_of(event.get("t"))) is not None), default=None)

    @cached_property
    def begun(self) -> float | None:
        """Start time of the first rank; None when no rank recorded it."""
        first = (moment_of(events[0].get("t")) for events in self.rank_events.values() if events)
        return min((moment for moment in first if moment is not None), default=None)

    def stepping_since(self, last: float) -> float | None:
        """Return when the first step ended according to a recorder (before `last`), else `begun`.

        Imports and loading data may take far longer than the time between two lines of the training.
        """
        return min((moment for moment in self._first_steps if moment < last), default=self.begun)

    @cached_property
    def _first_steps(self) -> list[float]:
        moments = (moment_of(self.steps(rank).get("first_step")) for rank in sorted(self.rank_events)[:RANKS])
        return [moment for moment in moments if moment is not None]

    def steps(self, rank: int) -> Mapping[str, Any]:
        """Return the step times that a rank's recorder wrote; empty when they are missing or unreadable."""
        return self.run.files.json(_steps_file(rank))

    @cached_property
    def recordings(self) -> "dict[int, RankRecording]":
        """Rank → the counts of its recorder; empty unless each rank has one with measured steps."""
        from hackathon.logs.recorded import recordings

        return recordings(self.path, self.record.processes)

    def steps_written(self, rank: int) -> float | None:
        """Return when a rank's recorder last wrote; None when it did not."""
        try:
            return (self.path / _steps_file(rank)).lstat().st_mtime
        except OSError:
            return None

    @cached_property
    def first_failure(self) -> written.Failure | None:
        """(rank, its `ended` event) of the rank that failed first; None when no rank failed."""
        return written.first_failure(self.path, self.attempt)

    def was_told(self, rank: int, signal: str = "") -> bool:
        """Return whether a rank got a signal (`TERM`; empty: any) from outside before it ended."""
        events = (event for event in self.rank_events.get(rank, ()) if event.get("event") == "told")
        return any(not signal or event.get("signal") == signal for event in events)

    @property
    def failed_by_itself(self) -> bool:
        """Whether the rank that failed first had not been asked to stop."""
        return self.first_failure is not None and not self.was_told(self.first_failure[0])

    @cached_property
    def host_of(self) -> dict[int, str]:
        """Rank → its host, for the ranks that started."""
        return {
            rank: str(event["host"])
            for rank, listed in self.rank_events.items()
            for event in listed
            if event.get("host")
        }

    @cached_property
    def ranks_on(self) -> dict[str, tuple[int, ...]]:
        """Host → its ranks in ascending order."""
        ranks_by_host: dict[str, list[int]] = {}
        for rank, host in sorted(self.host_of.items()):
            ranks_by_host.setdefault(host, []).append(rank)
        return {host: tuple(ranks) for host, ranks in ranks_by_host.items()}

    @cached_property
    def metrics(self) -> dict[int, list[dict[str, Any]]]:
        """Rank → the lines of its Meter; numbers that are not finite are strings, as in the file.

        Of a long training only the beginning and the end are read, METRICS bytes for all ranks together. The first line
        after the gap has the key `gap`.
        """
        files = rank_files(self.path / "metrics", ".jsonl") if self._meters is None else self._meters.files
        most = min(METRICS // 16, max(LEAST, METRICS // (2 * max(1, len(files)))))
        return {
            rank_of(path): [line for line in _both_ends(path, most, self._meters) if _attempt(line) == self.attempt]
            for path in files
        }

    @cached_property
    def telemetry(self) -> dict[str, list[dict[str, str]]]:
        """Host → rows `t, kind, index, utilisation_percent, memory_mib, power_w` as text, by time."""
        files = sorted((self.path / "telemetry").glob("*.csv"))
        return {path.stem: list(_rows(path, TELEMETRY // len(files))) for path in files}

    @cached_property
    def gpu_rows(self) -> dict[str, dict[int, list[tuple[float, float]]]]:
        """Host → GPU → (utilisation in percent, memory in MiB) by time, from nvidia-smi."""
        gpus: dict[str, dict[int, list[tuple[float, float]]]] = {}
        for host, rows in self.telemetry.items():
            for row in rows:
                index = number(row.get("index"))
                busy, memory = number(row.get("utilisation_percent")), number(row.get("memory_mib"))
                if row.get("kind") == "gpu" and index is not None and busy is not None and memory is not None:
                    gpus.setdefault(host, {}).setdefault(int(index), []).append((busy, memory))
        return gpus

    @cached_property
    def environments(self) -> dict[str, dict[str, Any]]:
        """Host → its environment: `env/<host>.json`, written by the runtime."""
        environments = {path.stem: read_json(path) for path in sorted((self.path / "env").glob("*.json"))}
        return {host: value for host, value in environments.items() if isinstance(value, dict)}

    @cached_property
    def numbers(self) -> dict[str, str]:
        """The run's numbers and names for the placeholders of texts; `?` for missing values."""
        status, record = self.status, self.record
        values: dict[str, object] = {name: getattr(record, name) or None for name in _OF_REQUEST}
        if record.readable:
            values["gpus_per_node"] = record.gpus_per_node  # machines without GPUs have 0
        fields: dict[str, object] = {
            **values,
            "walltime": format_walltime(record.walltime) if record.walltime else None,
            "run": self.path.name,
            "job_name": self.run.job_name,
            "job": status.job_id if status else self.run.job_id(),
            "state": status.state if status else None,
            "reason": status.reason if status else None,
            "exit_code": status.exit_code if status else None,
            "signal": status.signal if status else None,
            "hosts": ", ".join(status.hosts if status else dict.fromkeys(self.host_of.values())),
        }
        memory = self._most_memory()
        memory_text = _(" (in use on a node: up to {memory})", memory=memory) if memory else ""
        texts = {name: NOT_KNOWN if value in (None, "") else str(value) for name, value in fields.items()}
        return {**texts, "memory": memory or NOT_KNOWN, "memory_seen": memory_text}

    @cached_property
    def commands(self) -> Mapping[str, str]:
        """Commands of the run's scheduler that a person can type."""
        return commands_of(self.record.scheduler, self.record.dialect)

    def _most_memory(self) -> str:
        """Return the highest main memory in use on a host, as text; empty when it was not measured."""
        used = [
            whole(row["memory_mib"])
            for rows in self.telemetry.values()
            for row in rows
            if row.get("kind") == "cpu" and (row.get("memory_mib") or "").isdecimal()
        ]
        return format_size(max(used) * 1024 * 1024) if used else ""


@dataclass(frozen=True)
class FactHit:
    """A single result of a check."""

    evidence: Evidence | None = None
    """Where it is recorded; None when no line shows it."""
    values: dict[str, str] = field(default_factory=dict)
    """Further placeholders of the rule's texts."""
    ranks: tuple[int, ...] = ()
    """The ranks concerned."""
    count: int = 1
    """Number of occurrences."""


Check = Callable[[RunFacts, Mapping[str, float]], list[FactHit]]
"""A check of a run with the rule's `thresholds`; returns an empty list when there is nothing to report."""

FACTS: dict[str, Check] = {}
"""Name of a rule's `fact` → its check. Modules add their checks on import; `checks.MODULES` lists them."""


def fact(name: str) -> Callable[[Check], Check]:
    """Register a check under the name that rules use."""

    def add(check: Check) -> Check:
        FACTS[name] = check
        return check

    return add


def _both_ends(path: Path, most: int, meters: "MeterFiles | None") -> Iterator[dict[str, Any]]:
    """Yield the objects of a Meter's file; for a file above 2 × `most` bytes only the first and last ones."""
    stored = meters.objects(path, 2 * most) if meters is not None else None
    if stored is not None:
        yield from stored
        return
    try:
        with open_regular(path) as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            yield from objects(stream.read(2 * most if size <= 2 * most else most).splitlines())
            if size > 2 * most:
                stream.seek(size - most)
                stream.readline(most)
                for number, line in enumerate(objects(stream.read(most).splitlines())):
                    yield line if number else {**line, "gap": True}
    except OSError:
        return


def _steps_file(rank: int) -> str:
    return f"{STEPS_FOLDER}/rank-{rank}.json"


def _attempt(line: Mapping[str, Any]) -> int:
    value = line.get("attempt", 1)
    return value if isinstance(value, int) else 1


def _rows(path: Path, most: int) -> Iterator[dict[str, str]]:
    """Yield the rows of a table; for a table above `most` bytes only the last ones."""
    try:
        with open_regular(path) as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            raw = stream.read(min(size, most))
            if size > most:
                head = raw[:LONGEST_HEAD].partition(b"\n")[0]
                stream.seek(size - most)
                raw = head + b"\n" + stream.read(most).partition(b"\n")[2]
        yield from csv.DictReader(StringIO(raw.decode("utf-8", "replace").replace("\0", ""), newline=""))
    except (OSError, csv.Error):
        return
