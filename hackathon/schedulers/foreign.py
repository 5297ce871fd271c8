"""What schedulers leave in environments, accounts, logs and the habits of people, wherever it is met: tables only.

These are needed together, whatever the cluster at hand has: a job of one scheduler may be asked for inside a job of
another, and a log may come from anywhere.
"""

import re

DROPPED_PREFIXES = (
    "SBATCH_", "SQUEUE_", "SACCT_", "SINFO_", "SCANCEL_", "SALLOC_", "QSUB_", "QSTAT_", "QSELECT_", "SLURM_",
)  # fmt: skip
"""How variables begin that change what a command prints or which jobs it shows (squeue(1), sacct(1), sinfo(1)), or what
a job is (sbatch(1)). Inside a job (an interactive one, say) SLURM_* describes that job and would leak into the new one.
"""
DROPPED = frozenset({"PBS_DPREFIX"})
"""How a script's directives are read (qsub(1))."""
KEPT = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT", "SLURM_ROOT", "SLURM_HOME"})
"""Variables with a dropped prefix that describe the site, not a job."""

TASK_VARIABLES = ("SLURM", "SBATCH", "SRUN")
"""How variables begin that belong to one node or one task of a job step, whoever gave the nodes."""

ACCOUNTS = frozenset({"slurm"})
"""Accounts of the system that daemons run under: no person's name."""
DAEMONS = ("slurmstepd",)
"""Daemons that write into the logs of jobs, each line with its name in front."""
OUTPUT = re.compile(r"(?i)(?:^|/)(?:slurm-\d+[^/]*|scheduler[^/]*|[^/]*\.[oe]\d+|[^/]*\.\d+\.(?:out|err))$")
"""Path of a file that a scheduler writes a job's output into."""
TOPIC = "slurm|srun|sbatch|pbs|qsub|pjm|pjsub|walltime|time limit"
"""Words of a failure that has to do with a scheduler, as a regular expression."""


def leaks(name: str) -> bool:
    """Return whether an environment variable must not reach a scheduler's command."""
    return name in DROPPED or (name.startswith(DROPPED_PREFIXES) and name not in KEPT)
