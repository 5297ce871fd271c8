"""Write a study as offline runs of Weights & Biases: one for each series, one for each run, all in one group."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hackathon.api.libraries import library
from hackathon.api.tracker_records import TrackedStudy, not_written
from hackathon.text.errors import RequestError

_QUIET: Mapping[str, Any] = {
    "mode": "offline", "silent": True, "console": "off", "disable_git": True, "disable_code": True, "save_code": False,
    "x_disable_stats": True, "x_disable_meta": True, "x_save_requirements": False, "disable_job_creation": True,
}  # fmt: skip
"""Settings: nothing is sent, and nothing of this machine is recorded beside the numbers. Older versions lack some."""


def require_wandb() -> Any:
    """Return the module. Raises RequestError where it is not installed."""
    return library("wandb")


def write_wandb(wandb: Any, study: TrackedStudy, folder: Path) -> dict[str, str]:
    """Return the id of a series or a run → that of W&B's run, written offline below `folder/wandb`.

    Raises RequestError for a folder that has one of these runs, HackathonError with W&B's own message when writing
    fails: runs before that stay.
    """
    known = set(getattr(wandb.Settings, "model_fields", None) or getattr(wandb.Settings, "__annotations__", {}))
    settings = wandb.Settings(**{name: value for name, value in _QUIET.items() if name in known})
    ids = {entry: entry[-8:] if entry == run_id else entry for entry, run_id in _entries(study)}
    existing = [path.name for path in (folder / "wandb").glob("*run-*")]
    for identifier in ids.values():
        if any(name.endswith(f"-{identifier}") for name in existing):
            raise RequestError(
                "export.exists",
                "{folder} has the study {study} already",
                hint="--dir FOLDER writes to another one; or delete the experiment there",
                folder=str(folder / "wandb"),
                study=study.id,
            )
    for series in study.series:
        about = {**series.parameters, **series.tags}
        with _begun(wandb, study, folder, settings, ids[series.id], series.name, "study", about) as run:
            for name in {name for point in series.points for name in point} - {"processes"}:
                run.define_metric(name, step_metric="processes")
            for point in series.points:
                run.log(dict(point))
        for entry in series.runs:
            about = {**entry.parameters, **entry.tags}
            if entry.started is not None:
                about |= {"hackathon.started": entry.started}
            if entry.ended is not None:
                about |= {"hackathon.ended": entry.ended}
            code = 0 if entry.succeeded else 1
            with _begun(
                wandb, study, folder, settings, ids[entry.id], entry.name, "run", about, entry.note, code
            ) as run:
                run.summary.update(dict(entry.metrics))
    return ids


def _entries(study: TrackedStudy) -> Iterator[tuple[str, str]]:
    """Yield (id, id of a run or empty) of everything that becomes a run of W&B."""
    for series in study.series:
        yield series.id, ""
        for run in series.runs:
            yield run.id, run.id


def _beside(wandb: Any) -> str | bool:
    """Return the option by which a run of the user's own, in a notebook, goes on beside the new one."""
    numbers = re.findall(r"\d+", wandb.__version__)[:2]
    return "create_new" if tuple(map(int, numbers)) >= (0, 20) else True


@contextmanager
def _begun(
    wandb: Any, study: TrackedStudy, folder: Path, settings: Any, identifier: str, name: str, kind: str,
    about: Mapping[str, Any], note: str = "", code: int = 0,
) -> Iterator[Any]:  # fmt: skip
    """Run the body with a started run, and finish it; W&B's errors become HackathonError."""
    try:
        run = wandb.init(
            project=study.name, id=identifier, name=name, group=study.id, job_type=kind, config=dict(about),
            notes=note or None, dir=str(folder), settings=settings, reinit=_beside(wandb),
        )  # fmt: skip
        yield run
        run.finish(exit_code=code)
    except wandb.Error as error:
        raise not_written(study, folder, error) from error
