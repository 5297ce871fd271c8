"""Tables of what schedulers leave in environments, accounts, logs and habits, on any cluster.

All are needed together: a job of one scheduler may be submitted inside a job of another, and a log may come from
anywhere.
"""

import re

DROPPED_PREFIXES = (
    "SBATCH_", "SQUEUE_", "SACCT_", "SINFO_", "SCANCEL_", "SALLOC_", "QSUB_", "QSTAT_", "QSELECT_", "SLURM_",
)  # fmt: skip
"""Prefixes of variables that change what a command prints, which jobs it lists, or what a job is.

See squeue(1), sacct(1), sinfo(1) and sbatch(1). Inside a job (e.g. an interactive one) SLURM_* describes that job and
would leak into the new one.
"""
DROPPED = frozenset({"PBS_DPREFIX"})
"""Variables that change how a script's directives are read (qsub(1))."""
KEPT = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT", "SLURM_ROOT", "SLURM_HOME"})
"""Variables with a dropped prefix that describe the site, not a job."""

TASK_VARIABLES = ("SLURM", "SBATCH", "SRUN")
"""Prefixes of variables of one node or one task of a job step, whoever allocated the nodes."""

ACCOUNTS = frozenset({"slurm"})
"""System accounts of daemons, which are not people."""
DAEMONS = ("slurmstepd",)
"""Daemons that write lines into the logs of jobs, with their name in front."""
OUTPUT = re.compile(r"(?i)(?:^|/)(?:slurm-\d+[^/]*|scheduler[^/]*|[^/]*\.[oe]\d+|[^/]*\.\d+\.(?:out|err))$")
"""Path of a file that contains a job's output."""
TOPIC = "slurm|srun|sbatch|pbs|qsub|pjm|pjsub|walltime|time limit"
"""Words of failures that concern a scheduler, as a regular expression."""


def leaks(name: str) -> bool:
    """Return whether an environment variable must not reach a scheduler's command."""
    return name in DROPPED or (name.startswith(DROPPED_PREFIXES) and name not in KEPT)
