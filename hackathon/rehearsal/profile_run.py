"""The run of a profile: a short job whose program is recorded from outside, and when the recording is complete."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.jobs.plan import Plan
from hackathon.jobs.request import Request
from hackathon.profiling.traces.recording import FOLDER, recordings
from hackathon.rehearsal.rehearsal import RehearsalLimits, is_enough, shortened, unfinished
from hackathon.runs.directory import RunDirectory
from hackathon.runs.record import REHEARSAL_TAG
from hackathon.runs.source.snapshot import Source

if TYPE_CHECKING:
    from hackathon.jobs.resolve import Sources

TAGS = (REHEARSAL_TAG, FOLDER)
"""Tags of such a run; like a run of `try`, it is not a result."""
SKIPPED, RECORDED, SECONDS = 5, 10, 300
"""Steps that are skipped, steps that are recorded, and seconds after which the run is ended in any case."""
PLACE = "profiler"
"""Folder of the run that comes first in the program's PYTHONPATH."""
BESIDE = ("device_probe", "torch_trace", "chainer_trace", "tensorflow_trace", "tensorflow_events")
"""Modules that the recorder loads; their names in the run begin with `hackathon_`."""
VARIABLE = "HK_PROFILE"
UNRECORDED = ("jax",)
"""Frameworks whose programs the recorder cannot record."""


@dataclass(frozen=True)
class RecordingLimits:
    """How much is recorded, and for how long the run may last."""

    skip: int = SKIPPED
    steps: int = RECORDED
    memory: bool = False
    seconds: int = SECONDS

    @property
    def run(self) -> RehearsalLimits:
        """The limits that end the run because of its time alone."""
        return RehearsalLimits(self.seconds, 1 << 30)


def recorded(request: Request, limits: RecordingLimits, longest: int | None) -> Request:
    """Return a rehearsal's request whose program is recorded; `longest` is the queue's time limit."""
    path = request.variables.get("PYTHONPATH")
    variables = {
        **request.variables,
        VARIABLE: f"{limits.skip},{limits.steps},{int(limits.memory)}",
        "PYTHONPATH": f"$HK_RUN/{PLACE}" + (f":{path}" if path else "${PYTHONPATH:+:$PYTHONPATH}"),
    }
    return replace(shortened(request, limits.run, longest), variables=variables)


def recorder_files() -> Mapping[str, bytes]:
    """Return the files beside such a run's program: the recorder, under the name that Python imports first."""
    import hackathon.profiling

    recorder = Path(str(hackathon.profiling.__file__)).with_name("recorder.py")
    return {
        f"{PLACE}/sitecustomize.py": recorder.read_bytes(),
        **{f"{PLACE}/hackathon_{name}.py": recorder.with_name(f"{name}.py").read_bytes() for name in BESIDE},
    }


def unfinished_profile(planned: Plan, source: Source) -> dict[int, RunDirectory]:
    """Return processes → the run of an interrupted call that records the same program with the same limits."""
    variables = {job.request.processes: job.request.variables.get(VARIABLE) for job in planned.jobs}
    runs = unfinished(planned, source, TAGS)
    return {count: run for count, run in runs.items() if _variables(run).get(VARIABLE) == variables[count]}


def _variables(run: RunDirectory) -> Mapping[str, Any]:
    value = run.known().raw.get("variables")
    return value if isinstance(value, dict) else {}


def is_recorded(run: RunDirectory, limits: RecordingLimits) -> str:
    """Return why a running job can be ended: `recorded`, `seconds` or `silent`; empty while it must continue."""
    run.files.appeared()
    profiles = recordings(run)
    if profiles and len(profiles) >= run.known().processes and all(profile.complete for profile in profiles):
        return FOLDER
    return is_enough(run, limits.run)


def unseen(sources: "Sources") -> str:
    """Return the framework of a program that cannot be recorded; empty if it can be."""
    framework = sources.recipe.framework if sources.recipe else sources.project.framework if sources.project else None
    return str(framework) if framework in UNRECORDED else ""
