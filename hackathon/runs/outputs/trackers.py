"""Files of experiment trackers among a program's outputs, found by their names: W&B, TensorBoard, MLflow."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.jobs.script import shell_word
from hackathon.runs.outputs.walk import OutputFile
from hackathon.text.messages import ngettext

WANDB, TENSORBOARD, MLFLOW = "W&B", "TensorBoard", "MLflow"
_WANDB = re.compile(r"(?P<folder>(?:.*/)?wandb/(?:offline-)?run-\d{8}_\d{6}-[^/]+)/run-[^/]+\.wandb")
_EVENTS = re.compile(r"(?P<folder>(?:.*/)?)[^/]*\.?tfevents\.[^/]+")
_MLRUNS = re.compile(r"(?P<folder>(?:.*/)?mlruns)/(?P<run>[^/]+/[^/]+)/meta\.yaml")
_DATABASE = re.compile(r"(?:.*/)?mlflow\.db")


@dataclass(frozen=True)
class TrackerFiles:
    """What one tracker wrote below one folder, with the command that shows or uploads it."""

    tracker: str
    """`W&B`, `TensorBoard` or `MLflow`."""
    path: str
    """A folder, or the database of MLflow, relative to the run's directory."""
    runs: int
    """Number of the tracker's own runs there; 0 if only the tracker can tell."""
    command: str
    """A line for a shell, in the run's directory."""

    @property
    def text(self) -> str:
        """Display text: the tracker, the number of its runs, the folder."""
        if not self.runs:
            return f"{self.tracker}, {self.path}"
        return ngettext(
            "{tracker}, {count} run, {path}", "{tracker}, {count} runs, {path}", self.runs,
            tracker=self.tracker, count=self.runs, path=self.path,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {"tracker": self.tracker, "path": self.path, "runs": self.runs, "command": self.command}


def event_folders(files: Sequence[OutputFile]) -> dict[str, list[OutputFile]]:
    """Return folder → the event files of TensorBoard in it."""
    folders: dict[str, list[OutputFile]] = {}
    for output in files:
        match = _EVENTS.fullmatch(output.path)
        if match is not None and not output.path.endswith(".profile-empty"):  # TensorFlow's mark of a profile
            folders.setdefault(match["folder"].rstrip("/"), []).append(output)
    return folders


def mlflow_runs(files: Sequence[OutputFile]) -> dict[str, list[str]]:
    """Return each folder `mlruns` → its runs, as `EXPERIMENT/RUN`."""
    folders: dict[str, list[str]] = {}
    for output in files:
        match = _MLRUNS.fullmatch(output.path)
        if match is not None and not match["run"].startswith("models/"):
            folders.setdefault(match["folder"], []).append(match["run"])
    return folders


def tracker_files(files: Sequence[OutputFile]) -> list[TrackerFiles]:
    """Return the trackers among a program's outputs; several folders of events below one are one entry."""
    entries = []
    for output in files:
        if match := _WANDB.fullmatch(output.path):
            folder = match["folder"]
            entries.append(TrackerFiles(WANDB, folder, 1, f"wandb sync {shell_word(folder)}"))
        elif _DATABASE.fullmatch(output.path):
            address = shell_word(f"sqlite:///{output.path}")
            entries.append(TrackerFiles(MLFLOW, output.path, 0, f"mlflow ui --backend-store-uri {address}"))
    events = event_folders(files)
    if events:
        folder = _common([*events])
        entries.append(TrackerFiles(TENSORBOARD, folder or ".", len(events), _logdir(folder)))
    for folder, runs in mlflow_runs(files).items():
        entries.append(TrackerFiles(MLFLOW, folder, len(runs), mlflow_ui(folder)))
    return sorted(entries, key=lambda entry: (entry.tracker, entry.path))


def mlflow_ui(folder: str) -> str:
    """Return the command that shows a tracking folder; newer versions refuse folders without the variable."""
    return f"MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri {shell_word(folder)}"


def _logdir(folder: str) -> str:
    return f"tensorboard --logdir {shell_word(folder or '.')}"


def _common(folders: Sequence[str]) -> str:
    """Return the deepest folder that contains all folders."""
    parts = [folder.split("/") for folder in folders]
    common = []
    for names in zip(*parts, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return "/".join(common)
