"""Commands of schedulers' users: a text that begins with one of them can be pasted into a shell."""

_NAMES = "kubectl pbsnodes pjstat qdel qhost qselect qstat qsub sacct sbatch scancel scontrol sinfo squeue srun"
CLIENT_COMMANDS = frozenset(_NAMES.split())
