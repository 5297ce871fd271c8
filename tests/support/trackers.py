"""Stand-ins for the packages of MLflow and W&B: they accept what the real functions accept, and keep what they get.

`tests/unit/api/test_export.py` compares their parameters with those of the real packages where these are installed.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


class MlflowException(Exception):
    """What MLflow raises."""


@dataclass
class Metric:
    key: str
    value: float
    timestamp: int
    step: int


@dataclass
class Param:
    key: str
    value: str


@dataclass
class KeptRun:
    """One run of a tracker."""

    name: str
    tags: dict[str, Any]
    metrics: list[Any] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    status: Any = None
    start: int | None = None
    end: int | None = None
    deleted: bool = False


class MlflowClient:
    """A client whose folders are kept in memory; `fails_after` runs it raises."""

    stores: dict[str, dict[str, dict[str, KeptRun]]] = {}
    """Address → experiment's name → id → run."""
    fails_after: int | None = None

    def __init__(self, tracking_uri: str | None = None) -> None:
        self.store = MlflowClient.stores.setdefault(str(tracking_uri), {})

    def get_experiment_by_name(self, name: str) -> Any:
        return SimpleNamespace(experiment_id=name) if name in self.store else None

    def create_experiment(self, name: str) -> str:
        self.store[name] = {}
        return name

    def search_runs(self, experiment_ids: list[str], max_results: int = 1000) -> list[KeptRun]:
        return [run for run in self.store[experiment_ids[0]].values() if not run.deleted][:max_results]

    def create_run(
        self, experiment_id: str, start_time: int | None = None, tags: dict[str, Any] | None = None,
        run_name: str | None = None,
    ) -> Any:  # fmt: skip
        runs = self.store[experiment_id]
        if self.fails_after is not None and len(runs) >= self.fails_after:
            raise MlflowException("No space left on device\nmore")
        identifier = f"m{len(runs)}"
        runs[identifier] = KeptRun(run_name or "", dict(tags or {}), start=start_time)
        return SimpleNamespace(info=SimpleNamespace(run_id=identifier))

    def log_batch(self, run_id: str, metrics: Any = (), params: Any = ()) -> None:
        assert len(metrics) <= 1000 and len(params) <= 100
        run = self._run(run_id)
        run.metrics += metrics
        run.params |= {param.key: param.value for param in params}

    def set_terminated(self, run_id: str, status: str | None = None, end_time: int | None = None) -> None:
        run = self._run(run_id)
        run.status, run.end = status, end_time

    def delete_run(self, run_id: str) -> None:
        self._run(run_id).deleted = True

    def _run(self, run_id: str) -> KeptRun:
        return next(runs[run_id] for runs in self.store.values() if run_id in runs)


class Settings:
    """W&B's settings of a version that has only these."""

    model_fields = dict.fromkeys(("mode", "silent", "console", "x_disable_stats"))

    def __init__(self, **values: Any) -> None:
        assert values.keys() <= self.model_fields.keys(), "a setting that this version does not have"
        self.values = values


class WandbError(Exception):
    """What W&B raises."""


@dataclass
class WandbRun:
    """A run of W&B, which leaves the folder that the real one leaves."""

    given: dict[str, Any]
    logged: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    exit_code: int | None = None
    steps: dict[str, str] = field(default_factory=dict)

    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        self.steps[name] = step_metric or ""

    def log(self, data: dict[str, Any]) -> None:
        self.logged.append(data)

    def finish(self, exit_code: int | None = None) -> None:
        self.exit_code = exit_code


WANDB_RUNS: list[WandbRun] = []


def init(
    project: str | None = None, id: str | None = None, name: str | None = None, group: str | None = None,
    job_type: str | None = None, config: dict[str, Any] | None = None, notes: str | None = None,
    dir: str | None = None, settings: Settings | None = None, reinit: Any = None,
) -> WandbRun:  # fmt: skip
    """Begin a run."""
    assert settings is not None and settings.values["mode"] == "offline"
    (Path(str(dir)) / "wandb" / f"offline-run-20261130_000000-{id}").mkdir(parents=True)
    WANDB_RUNS.append(WandbRun({**locals()}))
    return WANDB_RUNS[-1]


def install_mlflow(monkeypatch: pytest.MonkeyPatch) -> type[MlflowClient]:
    """Put the stand-in for MLflow in the place of the package, without any runs."""
    module = ModuleType("mlflow")
    module.__dict__.update(
        MlflowClient=MlflowClient,
        entities=SimpleNamespace(Metric=Metric, Param=Param),
        exceptions=SimpleNamespace(MlflowException=MlflowException),
    )
    monkeypatch.setitem(sys.modules, "mlflow", module)
    for name in ("MLFLOW_DISABLE_TELEMETRY", "MLFLOW_ALLOW_FILE_STORE"):
        monkeypatch.setenv(name, "true")  # the export sets them for good
    monkeypatch.setattr(MlflowClient, "stores", {})
    monkeypatch.setattr(MlflowClient, "fails_after", None)
    return MlflowClient


def install_wandb(monkeypatch: pytest.MonkeyPatch) -> list[WandbRun]:
    """Put the stand-in for W&B in the place of the package, and return the list of its runs."""
    module = ModuleType("wandb")
    module.__dict__.update(init=init, Settings=Settings, Error=WandbError, __version__="0.31.0")
    monkeypatch.setitem(sys.modules, "wandb", module)
    WANDB_RUNS.clear()
    return WANDB_RUNS
