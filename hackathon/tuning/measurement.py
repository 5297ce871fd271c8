"""The job of `hackathon speedup`: create it, or reuse one that measures the same."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.command import interpreter_of
from hackathon.config.records import Scalar
from hackathon.jobs.grid import with_settings
from hackathon.jobs.plan import Plan
from hackathon.jobs.resolve import declared_parameters, resolve
from hackathon.runs.directory import RunDirectory, find_runs
from hackathon.runs.record import SPEEDUP_TAG
from hackathon.runs.source.snapshot import SnapshotFile, Source, with_runtime
from hackathon.runs.states import OPEN, SUCCEEDED
from hackathon.text.errors import RequestError
from hackathon.text.json_fields import text_of
from hackathon.text.paths import runtime_file
from hackathon.tuning import driver
from hackathon.tuning.options import SEED, Option, named
from hackathon.tuning.slots import order_of, task_json

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources
    from hackathon.runs.submit import Outcomes

STARTING = 300
"""Seconds that a start may take until its first value: a compiler needs minutes."""
USUAL_START = 25
"""Assumed seconds of a start besides the training."""
KEPT = 24 * 3600.0
"""Seconds for which a measurement is valid for the same program with the same options."""
SAME = (
    "cluster", "queue", "walltime", "nodes", "processes", "processes_per_node", "threads", "gpus_per_process", "memory",
    "launcher", "binding", "variables",
)  # fmt: skip
"""Fields of a request that must be equal, too, since the program's files do not contain them.

A longer walltime may finish what a shorter one could not.
"""


@dataclass(frozen=True)
class SpeedupMeasurement:
    """A measuring job before it is submitted."""

    plan: Plan
    source: Source

    def earlier(self) -> RunDirectory | None:
        """Return the newest run of the last day that measures the same and runs or succeeded; None without any."""
        from hackathon.runs.status import status

        request, since = self.plan.jobs[0].request.to_json(), time.time() - KEPT
        for run in find_runs(self.plan.sources.runs):  # the newest first
            if run.created < since:
                break
            record = run.known()
            if SPEEDUP_TAG not in record.tags or run.job_id() is None:
                continue
            if text_of(run.files.json("source.json").get("digest")) != self.source.digest:
                continue
            same = all(record.raw.get(name) == request[name] for name in SAME)
            if same and status([run])[0].state in {SUCCEEDED, *OPEN}:
                return run
        return None

    def start(self, parent: str | None = None) -> "Outcomes":
        """Submit it. Raises the errors of `campaign.start`."""
        from hackathon.runs.campaign import start

        return start(self.plan, tags=(SPEEDUP_TAG,), source=self.source, parent=parent)


@dataclass(frozen=True)
class SingleProcess:
    """A program with one process, and its command with other settings."""

    sources: "Sources"

    @cached_property
    def request(self) -> "Request":
        """Its request, with the launcher that adds the least.

        Raises RequestError for --in-place and for more than one process, and the errors of `resolve`.
        """
        options = self.sources.options
        if options.in_place:
            raise RequestError(
                "speedup.in_place", "--in-place does not work here: each start needs its own copy of the program"
            )
        if options.nodes not in (None, 1) or options.processes not in (None, 1):
            raise RequestError(
                "speedup.one_process",
                "speedup measures one process on one node",
                hint="Leave --nodes and --processes out.",
            )
        return self.resolved(self.alone)

    @cached_property
    def alone(self) -> "Sources":
        """The sources of one process; launcher `local` unless another was requested or the recipe excludes it."""
        options = replace(self.sources.options, nodes=None, processes=1)
        recipe, cluster = self.sources.recipe, self.sources.cluster
        offered = (recipe.launchers if recipe else None, cluster.launchers)
        if options.launcher is None and all(not launchers or "local" in launchers for launchers in offered):
            options = replace(options, launcher="local")
        return replace(self.sources, options=options)

    @cached_property
    def declared(self) -> Mapping[str, Any]:
        """Name → declaration of its parameters."""
        return declared_parameters(self.sources.project, self.sources.recipe)

    @cached_property
    def seed(self) -> str | None:
        """The parameter for the seed; None when it declares none."""
        name = named(SEED, self.declared, self.request)
        return name if name is not None and isinstance(self.request.parameters[name], int) else None

    def command(self, settings: Mapping[str, Scalar], round_: int = 0) -> list[str]:
        """Return its command with these settings; each round has another seed. Raises RequestError."""
        chosen = {name: value for name, value in settings.items() if not name.startswith("env.")}
        seed = self.request.parameters.get(self.seed or "")
        if self.seed is not None and isinstance(seed, int) and self.seed not in chosen:
            chosen[self.seed] = seed + round_
        return list(self.resolved(with_settings(self.alone, chosen)).command)

    def resolved(self, sources: "Sources") -> "Request":
        """Return the request of these sources, for the measured number of processes. Raises RequestError."""
        return resolve(sources, processes=1)

    def walltime(self, starts: int, seconds: int) -> int:
        """Return the walltime for so many starts: as requested, else enough, within the queue's limit."""
        if self.sources.options.walltime is not None:
            return self.sources.options.walltime
        queue = self.sources.cluster.queues.get(self.request.queue or "")
        longest = queue.longest(self.request.nodes) if queue is not None else None
        enough = starts * (seconds + USUAL_START) + 120
        return min(enough, longest) if longest else enough

    def measurement(
        self, task: Mapping[str, Any], walltime: int, kind: tuple[str, Path] | None = None
    ) -> SpeedupMeasurement:
        """Return the job for a task; `kind`: name and file of a program for a further kind of tasks.

        Raises the errors of `plan` and `snapshot.take`.
        """
        from hackathon.runs.campaign import plan, program_of

        bare = self.request
        request = replace(
            bare,
            command=(interpreter_of(bare.command), kind[0] if kind else driver.PROGRAM),
            check=None,
            mode=None,
            walltime=walltime,
            stop_before=min(bare.stop_before, walltime // 5),
        )
        planned = plan(self.alone, [request])
        program = program_of(planned)
        payload = {**task, "meter": bare.recipe is not None, "gpus": bare.gpus_per_node}
        more = {
            **({kind[0]: _file(kind[1].read_bytes())} if kind else {}),
            **with_runtime(program, bare.command, runtime_file()),
            driver.PROGRAM: _file(Path(driver.__file__).read_bytes()),
            driver.TASK: _file(task_json(payload)),
        }
        return SpeedupMeasurement(planned, replace(program, files={**program.files, **more}))

    def comparison(self, options: Sequence[Option], rounds: int, seconds: int) -> SpeedupMeasurement:
        """Return the job that compares options with the unchanged program, in so many rounds. Raises RequestError."""
        arms = [{}, *(option.settings for option in options)]
        variables = [
            {name.removeprefix("env."): str(value) for name, value in arm.items() if name.startswith("env.")}
            for arm in arms
        ]
        commands = [[self.command(arm, number) for number in range(rounds)] for arm in arms]
        slots = [
            {**slot, "variables": variables[slot["arm"]]}
            for slot in order_of(len(arms), rounds, "".join(option.name for option in options))
        ]
        task = {"kind": "comparison", "seconds": seconds, "starting": STARTING, "arms": commands, "slots": slots}
        return self.measurement(task, self.walltime(len(slots), seconds))


def _file(content: bytes) -> SnapshotFile:
    return SnapshotFile(content, hashlib.sha256(content).hexdigest())
