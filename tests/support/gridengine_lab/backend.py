"""The real Grid Engine as one of the back-ends that tests run over."""

import subprocess
from collections.abc import Mapping
from typing import Any

from support.backends import LONG, Backend, Run, until
from support.gridengine_lab.lab import GridEngineLab


class GridEngineBackend(Backend):
    """The real Grid Engine of `gridengine_lab/`, asked for resource types as at TSUBAME."""

    name = scheduler = "gridengine"
    starter = "mpirun"
    waits_for_success = warns = remembers_all = False
    extra: Mapping[str, Any] = {"dialect": {"queue": "resource"}, "queues": {"node_f": {"nodes": 3}}}

    def __init__(self, lab: GridEngineLab) -> None:
        self.lab = lab
        self.node_names = tuple(lab.names)

    def environment(self) -> dict[str, str]:
        inherited = super().environment()
        return {**inherited, **self.lab.environment, "PATH": f"{self.lab.commands}:{inherited['PATH']}"}

    def jobs_named(self, name: str) -> list[str]:
        return sorted(self.lab.jobs().get(name, ()), key=int)

    def submitted_script(self, run: Run) -> bytes:
        kept = self.lab.script(run.job_id)
        until(kept.exists, f"{kept}: it is kept when the job begins")
        return kept.read_bytes()

    def by_hand(self, run: Run) -> int:
        command = ["qsub", "-sync", "y", "-N", "by-hand", "-o", "by-hand.log", "-j", "y", "-cwd", "job.sh"]
        environment = self.environment()
        return subprocess.run(command, cwd=run.path, env=environment, capture_output=True, timeout=LONG).returncode

    def signal_script(self, run: Run) -> None:
        self.lab.signal(run.job_id, "TERM")

    def stop(self) -> None:
        self.lab.clear()
