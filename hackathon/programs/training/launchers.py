"""Recognise launchers at the start of a command, and return the command without them."""

import re
import shlex
from collections.abc import Mapping, Sequence
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
_VALUED = {
    "torchrun": "role log_dir log-dir r redirects t tee start_method start-method monitor_interval monitor-interval "
                "event_log_handler event-log-handler logs_specs logs-specs local_ranks_filter local-ranks-filter",
    "mpirun": "x wdir wd path prefix output-filename report-uri tag-output-to env genvlist envlist rmk launcher "
              "iface bootstrap cpus-per-proc cpus-per-rank num-proc tune stdin t outfile-pattern configfile app",
    "srun": "A account w nodelist x exclude J job-name o output e error mem mem-per-cpu mem-per-gpu d dependency "
            "D chdir m distribution q qos C constraint jobid K kill-on-bad-exit export het-group pack-group r relative "
            "G gpus ntasks-per-gpu cpus-per-gpu accel-bind hint multi-prog-file i input W wait threads-per-core "
            "container-image container-mounts container-name container-workdir container-env container reservation "
            "mem-bind network signal task-prolog task-epilog S core-spec B ntasks-per-core ntasks-per-socket "
            "tres-per-task bcast-exclude environment comment uenv view",
    "accelerate": "config_file mixed_precision num_cpu_threads_per_process deepspeed_config_file dynamo_backend "
                  "rdzv_backend gpu_ids deepspeed_hostfile deepspeed_multinode_launcher max_restarts monitor_interval "
                  "zero_stage offload_optimizer_device offload_param_device gradient_accumulation_steps "
                  "gradient_clipping zero3_init_flag zero3_save_16bit_model fsdp_sharding_strategy rdzv_conf tee role "
                  "log_dir downcast_bf16 fsdp_auto_wrap_policy fsdp_state_dict_type",
    "deepspeed": "launcher launcher_args ssh_port save_pid enable_each_rank_log autotuning elastic_training "
                 "min_elastic_nodes max_elastic_nodes node_rank bind_core_list venv_script",
    "horovodrun": "p ssh-port ssh-identity-file output-filename start-timeout config-file",
}  # fmt: skip
"""Further options with a value, which the toolkit does not set."""
_PAIRS = frozenset({"mca", "gmca", "pmixmca", "genv", "prtemca"})
"""Options of mpirun with two values."""
_MEETS = frozenset({"nnodes", "rdzv_endpoint", "rdzv-endpoint", "node_rank", "node-rank", "master_addr", "master-addr"})
"""Options of torchrun by which agents on several nodes may meet, except with a value in `_HERE`."""
_HERE = re.compile(r"0|1|1:1|(?:localhost|127\.0\.0\.1)(?::\d+)?")
"""Values of these options that keep the agents on one node."""
_PROGRAM = frozenset({"m", "module", "no_python", "no-python"})
"""Options that say what kind of program follows."""
_TELLS = frozenset({"--version", "-V", "--help", "-h", "--check-build", "-cb"})
"""Options with which a launcher prints information and starts nothing."""
_SAME = {"mpiexec": "mpirun", "mpiexec.hydra": "mpirun"}


_MORE = frozenset(
    {"t", "time", "p", "partition", "cpu-bind", "gpu-bind", "mpi", "gres", "max_restarts", "max-restarts", "map-by",
     "bind-to", "rank-by", "rdzv_conf", "rdzv-conf", "local_addr", "local-addr", "network-interface"}
)  # fmt: skip
"""Options that count no ranks, although the toolkit has its own words for them."""
_MEETING = frozenset({"rdzv_endpoint", "rdzv-endpoint", "H", "host", "hosts"})
"""Options whose value may name a port or slots."""


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


class LauncherCall(NamedTuple):
    """A launcher with its own options."""

    launcher: str
    """`torchrun`, `accelerate`, `deepspeed`, `horovodrun`, `mpirun` or `srun`."""
    options: Mapping[str, str]
    """Option without dashes → its value, empty for a flag."""
    program: tuple[str, ...]
    """The words behind the options."""
    sure: bool
    """Whether all options are known."""


def launcher_call(words: Sequence[str]) -> LauncherCall | None:
    """Return the launcher at the start of a command; None without one, or if it only prints information."""
    name, remaining = _named(words)
    return _call(name, remaining) if name in KEYS else None


def _named(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the launcher of a command, also of `python -m MODULE`, and the words behind it; "" for accelerate's other
    commands."""
    name, remaining = (words[0].rpartition("/")[2] if words else ""), list(words[1:])
    if _PYTHON.fullmatch(name):
        at = next((number for number, word in enumerate(remaining) if word != "-u"), len(remaining))
        if remaining[at : at + 1] == ["-m"] and len(remaining) > at + 1:
            return _MODULES.get(remaining[at + 1], ""), remaining[at + 2 :]
    elif name == "accelerate":
        return (name, remaining[1:]) if remaining[:1] == ["launch"] else ("", remaining)
    return name, remaining


def _call(name: str, remaining: list[str]) -> LauncherCall | None:
    """Return the options behind a launcher's name; None if one of them only prints information."""
    kind = _SAME.get(name, name)
    counts, flags, valued = set(_COUNTS[kind].split()), set(_FLAGS[kind].split()), set(_VALUED[kind].split())
    programs = _PROGRAM if kind in ("torchrun", "accelerate", "deepspeed") else frozenset()
    options: dict[str, str] = {}
    sure = True
    while remaining and remaining[0].startswith("-") and remaining[0] != "--":
        option, equals, value = remaining.pop(0).partition("=")
        plain_name = option.lstrip("-")
        if option in _TELLS:
            return None
        short = re.fullmatch(r"-(n|np|N|c)(\d+)", option)
        if plain_name in counts | valued and not equals and remaining:
            value = remaining.pop(0)
        elif kind == "mpirun" and plain_name in _PAIRS:
            del remaining[:2]
        elif short:
            plain_name, value = short[1], short[2]
        sure &= plain_name in flags | programs | counts
        options[plain_name] = value
    return LauncherCall(kind, options, tuple(remaining[1:] if remaining[:1] == ["--"] else remaining), sure)


def only_counts(words: Sequence[str], call: LauncherCall) -> bool:
    """Return whether a launcher, found by its plain name, does nothing for the program that it names but start ranks.

    Accelerate and DeepSpeed also configure the program. A partition, a time limit, a binding or restarts are more, too,
    and so is a second program after `:`.
    """
    python = words[0] in ("python", "python3") and words[1] == "-m"
    named = call.launcher == "torchrun" if python else words[0] == call.launcher or words[0] in _SAME
    return (
        named
        and call.launcher in ("torchrun", "mpirun", "srun", "horovodrun")
        and not call.options.keys() & _MORE
        and not any("{" in value or ":" in value for option, value in call.options.items() if option not in _MEETING)
        and ":" not in call.program
        and "{" not in call.program[0]
        and (call.launcher != "torchrun" or bool(call.options.keys() & _PROGRAM) or call.program[0].endswith(".py"))
    )


def launched(words: Sequence[str]) -> Launched | None:
    """Return what a command's launcher starts, or None without a launcher or if it only prints information."""
    name, remaining = _named(words)
    if name not in KEYS:
        return None
    # without --use_env it passes --local_rank to the program, which torchrun does not
    sure = "torch.distributed.launch" not in words or bool({"--use_env", "--use-env"} & set(remaining))
    kind = _SAME.get(name, name)
    call = _call(name, remaining)
    if call is None:
        return None
    module, bare = bool({"m", "module"} & call.options.keys()), bool({"no_python", "no-python"} & call.options.keys())
    sure &= call.sure
    alone = kind == "torchrun" and all(
        _HERE.fullmatch(value) for option, value in call.options.items() if option in _MEETS
    )
    remaining = list(call.program)
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
