"""What `check` and `submit` say of a request that is allowed and yet likely not what was wanted."""

from pathlib import Path

import pytest

from hackathon.jobs.check import advice
from support.runs import request

ACTIVE = "/home/me/.venv"


@pytest.mark.parametrize(
    ("scheduler", "lines", "built", "told"),
    [
        ("pbs", (), None, True),
        ("pbs", ("module load cuda",), None, True),
        ("pbs", (f". {ACTIVE}/bin/activate",), None, False),
        ("pbs", ("source other/bin/activate",), None, False),
        ("pbs", (), {"path": "/envs/torch-ddp-cpu"}, False),
        ("slurm", (), None, False),  # sbatch hands the environment on
        ("nowhere", (), None, False),
    ],
)
def test_environment_that_a_job_would_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str, lines: tuple[str, ...],
    built: dict[str, str] | None, told: bool,
) -> None:  # fmt: skip
    monkeypatch.setenv("VIRTUAL_ENV", ACTIVE)
    asked = request(tmp_path, scheduler=scheduler, environment=lines, python_environment=built, starter="mpirun")
    assert any(ACTIVE in text for text in advice(asked)) is told
    monkeypatch.delenv("VIRTUAL_ENV")
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    assert advice(asked) == []
