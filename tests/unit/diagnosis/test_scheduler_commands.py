"""Advice names the commands of the run's own scheduler, and of no other one."""

import re
from pathlib import Path

import pytest

from hackathon.config.rule_files import load_rules
from hackathon.diagnosis.check_command import check_command, commands_of, every_form, misplaced, with_commands
from hackathon.schedulers import registry
from hackathon.schedulers.base import ADVICE_COMMANDS
from support.runs import new_run

OF = {
    "slurm": r"squeue|scancel|sbatch|scontrol|sacct|sacctmgr|sinfo|srun|SLURM_\w+",
    "pbs": r"qstat|qdel|qsub|qselect|pbsnodes|pbs_rstat|pbs_tmrsh|PBS_\w+",
}
BOUND = {
    "mpi-srun-without-pmi": "slurm", "scheduler-step-not-created": "slurm", "scheduler-step-waits": "slurm",
    "scheduler-launch-failed": "slurm", "scheduler-cgroup": "slurm", "mpi-slurm-pmix-library": "slurm",
    "scheduler-gres-unknown": "slurm", "slurm-commands-missing": "slurm",
}  # fmt: skip
"""Rules whose words only one scheduler's starter prints."""
SEARCHES = re.compile(r"(?:grep|which) ")
RULES = load_rules()[0]


@pytest.mark.parametrize("scheduler", sorted(registry.BUILT_IN))
def test_no_check_names_another_schedulers_commands(scheduler: str) -> None:
    foreign = re.compile("|".join(rf"\b(?:{words})\b" for name, words in OF.items() if name != scheduler))
    wrong = {}
    for dialect in registry.load(scheduler).advice_dialects:
        commands = commands_of(scheduler, dialect)
        for rule in RULES:
            for cause in rule.causes:
                check = with_commands(cause.check, commands)
                found = [
                    part for part in re.split(r"; | \| ", check) if not SEARCHES.search(part) and foreign.search(part)
                ]
                if found and BOUND.get(rule.id, scheduler) == scheduler:
                    wrong[rule.id] = found
    assert wrong == {}


@pytest.mark.parametrize("scheduler", sorted(registry.BUILT_IN))
def test_commands_of_schedulers_are_safe_to_fill(scheduler: str) -> None:
    for dialect in registry.load(scheduler).advice_dialects:
        commands = commands_of(scheduler, dialect)
        assert set(commands) <= set(ADVICE_COMMANDS)
        assert [name for text in commands.values() for name in misplaced(text)] == []
        filled = check_command(commands.get("status_command", "x {job}"), {"job": "7; rm -rf ~"})
        assert "'7; rm -rf ~'" in filled


def test_check_without_a_command_is_left_out() -> None:
    assert with_commands("{usage_command}; free", {}) == ""
    assert with_commands("free -g {job}", {}) == "free -g {job}"
    assert with_commands("{usage_command}", {"usage_command": "kumo {job}"}) == "kumo {job}"
    assert commands_of("nowhere", {}) == {}


def test_every_form_has_one_for_each_scheduler() -> None:
    forms = every_form("{status_command} | head")
    assert {"scontrol show job {job} | head", "qstat -xf {job} | head", "qstat -H -f {job} | head"} <= set(forms)


def test_the_runs_dialect_decides(tmp_path: Path) -> None:
    from hackathon.diagnosis.facts import RunFacts

    run = new_run(tmp_path)
    facts = RunFacts(run.path)
    assert facts.commands == commands_of(facts.record.scheduler, facts.record.dialect)
