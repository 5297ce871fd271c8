"""Commands with which users talk to schedulers: texts that begin with one of them can be pasted into a shell."""

CLIENT_COMMANDS = frozenset(
    ["kubectl", "pbsnodes", "pjstat", "qdel", "qhost", "qselect", "qstat", "qsub", "sacct", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun"]
)
