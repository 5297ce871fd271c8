"""Recognise launchers at the start of a command, and return the command without them."""

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*")
_MODULES = {
    "torch.distributed.run": "torchrun", "torch.distributed.launch": "torchrun",
    "deepspeed.launcher.runner": "deepspeed", "accelerate.commands.launch": "accelerate",
}  # fmt: skip
KEYS = {
    "torchrun": "torchrun", "mpirun": "mpirun", "mpiexec": "mpirun", "mpiexec.hydra": "mpirun", "srun": "srun",
    "accelerate": "torchrun", "deepspeed": "torchrun", "horovodrun": "horovodrun",
}  # fmt: skip
"""Launcher → the value of `launcher:` that replaces it."""
_COUNTS = {
    "torchrun": "nnodes nproc_per_node nproc-per-node rdzv_backend rdzv-backend rdzv_endpoint rdzv-endpoint rdzv_id "
                "rdzv-id rdzv_conf rdzv-conf max_restarts max-restarts node_rank node-rank master_addr master-addr "
                "master_port master-port local_addr local-addr",
    "mpirun": "n np c N npernode ppn perhost host H hostfile machinefile map-by bind-to rank-by f hosts",
    "srun": "n N c p ntasks nodes cpus-per-task ntasks-per-node gpus-per-task gpus-per-node gres partition t time "
            "cpu-bind mpi gpu-bind",
    "accelerate": "num_processes num_machines machine_rank main_process_ip main_process_port main_training_function",
    "deepspeed": "num_gpus num_nodes hostfile H include i exclude e master_port master_addr",
    "horovodrun": "np H hosts hostfile hostfilename network-interface",
}  # fmt: skip
"""Options for the number and location of ranks, which the toolkit sets itself. Each has a value."""
_FLAGS = {
    "torchrun": "standalone use_env use-env",
    "mpirun": "allow-run-as-root oversubscribe bynode bycore",
    "srun": "exclusive unbuffered u l label",
    "accelerate": "multi_gpu",
    "deepspeed": "",
    "horovodrun": "gloo mpi verbose",
}
_MEETS = frozenset({"nnodes", "rdzv_endpoint", "rdzv-endpoint", "node_rank", "node-rank", "master_addr", "master-addr"})
"""Options of torchrun by which agents on several nodes may meet, except with a value in `_HERE`."""
_HERE = re.compile(r"0|1|1:1|(?:localhost|127\.0\.0\.1)(?::\d+)?")
"""Values of these options that keep the agents on one node."""
_TELLS = frozenset({"--version", "-V", "--help", "-h", "--check-build", "-cb"})
"""Options with which a launcher prints information and starts nothing."""
_SAME = {"mpiexec": "mpirun", "mpiexec.hydra": "mpirun"}


class Launched(NamedTuple):
    """A command that starts a launcher."""

    launcher: str
    key: str
    """The value of `launcher:` to write instead."""
    rest: tuple[str, ...]
    """The command without it; empty when an option does more than count ranks, or is unknown."""
    program: tuple[str, ...]
    """The program that it probably starts, for further checks; empty when unknown."""
    own_world: bool = False
    """Whether each process that starts it certainly creates a separate world: no option names others to meet."""


def launched(words: Sequence[str]) -> Launched | None:
    """Return what a command's launcher starts, or None without a launcher or if it only prints information."""
    name, remaining = (words[0].rpartition("/")[2] if words else ""), list(words[1:])
    sure = True
    if _PYTHON.fullmatch(name):
        at = next((number for number, word in enumerate(remaining) if word != "-u"), len(remaining))
        if remaining[at : at + 1] == ["-m"] and len(remaining) > at + 1:
            # without --use_env it passes --local_rank to the program, which torchrun does not
            sure = remaining[at + 1] != "torch.distributed.launch" or bool({"--use_env", "--use-env"} & set(remaining))
            name, remaining = _MODULES.get(remaining[at + 1], ""), remaining[at + 2 :]
    elif name == "accelerate" and remaining[:1] == ["launch"]:
        remaining = remaining[1:]
    elif name == "accelerate":
        return None
    if name not in KEYS:
        return None
    kind = _SAME.get(name, name)
    counts, flags = set(_COUNTS[kind].split()), set(_FLAGS[kind].split())
    module, bare = False, False
    alone = kind == "torchrun"
    while remaining and remaining[0].startswith("-") and remaining[0] != "--":
        option, equals, value = remaining.pop(0).partition("=")
        plain_name = option.lstrip("-")
        if option in _TELLS:
            return None
        if plain_name in _MEETS and not _HERE.fullmatch(value or (remaining[0] if remaining else "")):
            alone = False
        if plain_name in ("m", "module") and kind in ("torchrun", "accelerate", "deepspeed"):
            module = True
        elif plain_name in ("no_python", "no-python") and kind in ("torchrun", "accelerate", "deepspeed"):
            bare = True
        elif plain_name in counts:
            if not equals and remaining:
                remaining.pop(0)
        elif plain_name not in flags and not re.fullmatch(r"-(?:n|np|N|c)\d+", option):
            sure = False
    if remaining[:1] == ["--"]:
        remaining.pop(0)
    if not remaining:
        return Launched(name, KEYS[name], (), ())
    alone &= not remaining[0].startswith(("$", "{"))
    if module:
        remaining = ["python", "-m", *remaining]
    elif not bare and remaining[0].endswith((".py", ".ipynb")) and kind in ("torchrun", "accelerate", "deepspeed"):
        remaining.insert(0, "python")
    inner = launched(remaining)
    if inner is not None:  # mpirun torchrun … is deliberate
        return Launched(name, inner.key, (), inner.program)
    return Launched(name, KEYS[name], tuple(remaining) if sure else (), tuple(remaining), alone)


def joined(words: Sequence[str]) -> str:
    """Return words as a command that is parsed the same; `{name}` stays a placeholder."""
    return " ".join(word if re.fullmatch(r"[\w@%+=:,./{}-]+", word) else shlex.quote(word) for word in words)


class Start(NamedTuple):
    """What a command starts."""

    kind: str
    """`python`, `shell`, `file` (executed by itself) or ""."""
    file: str
    """The file as written; for `python -m` the module's file if it exists, else ""."""


def started(words: Sequence[str]) -> Start:
    """Return what a command without a launcher starts."""
    if not words:
        return Start("", "")
    name = words[0].rpartition("/")[2]
    if _PYTHON.fullmatch(name) or name in ("bash", "sh"):
        kind = "shell" if name in ("bash", "sh") else "python"
        for at, word in enumerate(words[1:], 1):
            if word == "-m" and kind == "python" and len(words) > at + 1:
                return Start("module", words[at + 1])
            if word in ("-u", "-B", "-O", "-x", "-e", "-ex"):
                continue
            return Start("" if word.startswith("-") else kind, "" if word.startswith("-") else word)
        return Start("", "")
    return Start("file", words[0]) if "/" in words[0] else Start("", "")
