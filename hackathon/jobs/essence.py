"""Write the shortest script of a request: header, environment, launch. It needs no other file.

The script of `render` protects a job and records what it does; this one only starts the program, so that a reader sees
how the machine works and can copy the lines.
"""

import contextlib
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.config.cluster import Cluster
from hackathon.jobs import binding
from hackathon.jobs.request import Request
from hackathon.jobs.script import on_one_line, shell_word, shell_words
from hackathon.schedulers import registry
from hackathon.schedulers.dialect import Dialect
from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular
from hackathon.text.paths import runtime_file

if TYPE_CHECKING:
    from hackathon.jobs.render import Folders

_EXPORTED = re.compile(r"(?:^|[;&]\s*)export\s+([A-Za-z_]\w*)=")
_ALWAYS_EXPORTED = ("MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS")
_MAYBE_EXPORTED = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
_LARGEST = 1_000_000
"""Most bytes of a program that are searched."""


def essence(request: Request, cluster: Cluster, project: Path, template_folders: "Folders" = ()) -> str:
    """Return the shortest script that does a request's work; it runs the live folder of the program.

    `project` is the value of `$HK_PROJECT` in the environment's lines. Raises RequestError if a job needs more files
    than the script, or if no way to reach the other nodes is configured; else as `render` does.
    """
    from hackathon.jobs.render import render_header

    dialect = registry.load_dialect(request.scheduler, cluster.dialect)
    request = replace(request, in_place=True, shared=request.shared or _runtime_of(request))
    if dialect.file_names:
        raise RequestError(
            "jobs.essence_files",
            "{scheduler} starts jobs from {names}, so a script alone is not enough; use `hackathon submit`",
            scheduler=request.scheduler,
            names=", ".join(dialect.file_names),
        )
    if request.nodes > 1 and (not dialect.hosts_command or dialect.mpi_from_job):
        raise RequestError(
            "jobs.essence_nodes",
            "on several nodes of {scheduler} the short script is not known to work; use --to DIR or `hackathon submit`",
            scheduler=request.scheduler,
        )
    if request.image is not None:
        raise RequestError(
            "jobs.essence_image",
            "the short script does not start a container image; use --to DIR, or `hackathon submit`",
        )
    if request.gpus_per_process > 1:
        raise RequestError(
            "jobs.essence_gpus",
            "the short script does not divide the GPUs of a node between processes (`gpus_per_process: "
            "{each}`): use `hackathon render --to DIR`",
            each=request.gpus_per_process,
        )
    head, options = render_header(request, cluster, template_folders)
    lines = ["#!/bin/bash", *([] if dialect.this_machine else head.splitlines())]
    if options:
        lines.append(f"# options of the command that submits this: {shell_words(options)}")
    lines += [*_environment(request, project), *_meeting(request, dialect), *_launch(request, dialect)]
    return "\n".join(lines) + "\n"


def _environment(request: Request, project: Path) -> list[str]:
    """Return the lines before the program's folder."""
    words = (*request.environment, *request.exported.values())
    values = {"HK_PROJECT": str(project), "GROUP": request.group or "", "NODES": str(request.nodes)}
    assignments = [
        f"{name}={shell_word(value)}" for name, value in values.items() if any(f"${name}" in w for w in words)
    ]
    exports = [f'export {name}="{on_one_line(value)}"' for name, value in request.exported.items()]
    # bash ignores a comment, but a scheduler would read it as a directive
    lines = [line for text in request.environment for line in text.splitlines() if not line.lstrip().startswith("#")]
    return [
        "",
        "# environment: the same on every node",
        *assignments,
        *lines,
        *exports,
        f"export OMP_NUM_THREADS={request.threads}",
        f"cd {shell_word(request.source)} || exit 1",
    ]


def _runtime_of(request: Request) -> dict[str, str]:
    """Return the runtime that `submit` puts beside a program that imports it and has no copy."""
    runtime = runtime_file()
    for word in request.command:
        path = Path(request.source) / word
        with contextlib.suppress(OSError, ValueError), open_regular(path) as program:
            needed = runtime.stem.encode() in program.read(_LARGEST) and not path.with_name(runtime.name).exists()
            return {runtime.name: str(runtime)} if needed else {}
    return {}


def _meeting(request: Request, dialect: Dialect) -> list[str]:
    """Return the lines that set the address where the ranks meet."""
    if request.nodes == 1 and request.launcher == "torchrun":
        return []
    lines = ["", "# where the ranks meet: on the job's first node, at a port of its own"]
    if request.nodes > 1:
        lines += [
            f"mapfile -t hosts < <({dialect.hosts_command})",
            f"export MASTER_ADDR=${{hosts[0]}}{request.master_addr_suffix}",
        ]
    else:
        lines += ["export MASTER_ADDR=127.0.0.1"]
    job = f"${{{dialect.id_variable}:-$$}}" if dialect.id_variable else "$$"
    return [*lines, f"job={job}", "export MASTER_PORT=$((20000 + ${job%%[!0-9]*} % 10000))"]


def _launch(request: Request, dialect: Dialect) -> list[str]:
    nodes, per_node = request.nodes, request.processes_per_node
    shape = f"{_counted(request.processes, 'process', 'processes')} on {_counted(nodes, 'node', 'nodes')}"
    lines = ["", f"# launch: {shape}, by {request.launcher}"]
    program = shell_words(request.command)
    _, rank, local = dialect.task_identity
    match request.launcher:
        case "torchrun":
            return [*lines, *_torchrun(request, dialect)]
        case "srun":
            ranks = f"RANK=${rank} LOCAL_RANK=${local} WORLD_SIZE={request.processes} LOCAL_WORLD_SIZE={per_node}"
            return [*lines, f"{_srun(request, per_node)} {_shell(f'{ranks} exec {program}')}"]
        case "mpirun":
            ranks = _MPI_RANK.format(per_node=per_node, processes=request.processes)
            return [*lines, *_mpirun(request, per_node, _shell(f"{ranks} exec {program}"))]
        case "local":
            return [*lines, *_here(request, program)]
    over_mpi = " --mpi" if request.launcher.endswith("-mpi") else ""
    if nodes == 1:
        return [*lines, f"horovodrun{over_mpi} -np {request.processes} {program}"]
    if request.starter != "ssh":
        raise RequestError(
            "jobs.essence_launcher",
            "{launcher} needs files beside the script on several nodes; use --to DIR, or another --launcher",
            launcher=request.launcher,
        )
    return [
        *lines,
        f"printf -v list '%s:{per_node},' \"${{hosts[@]}}\"",
        f'horovodrun{over_mpi} -np {request.processes} -H "${{list%,}}" {program}',
    ]


_MPI_RANK = (
    "RANK=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} LOCAL_RANK=$((${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} % {per_node})) "
    "WORLD_SIZE={processes} LOCAL_WORLD_SIZE={per_node}"
)


def _torchrun(request: Request, dialect: Dialect) -> list[str]:
    command = list(request.command)
    is_script = len(command) > 1 and command[0] in ("python", "python3") and command[1].endswith(".py")
    program = shell_words(command[1:]) if is_script else f"--no-python {shell_words(command)}"
    bound = "".join(f"{word} " for word in binding.torchrun_words(request.binding))
    if request.nodes == 1:
        return [f"torchrun --standalone --nproc-per-node={request.processes_per_node} {bound}{program}"]

    def agent(number: str) -> str:
        return (
            f"torchrun --nnodes={request.nodes} --node-rank={number} --nproc-per-node={request.processes_per_node} "
            f"--master-addr=$MASTER_ADDR --master-port=$MASTER_PORT {bound}{program}"
        )

    match request.starter:
        case "srun":
            return [f"{_srun(request, 1)} {_shell(agent(f'${dialect.task_identity[0]}'))}"]
        case "mpirun":
            return _mpirun(request, 1, _shell(agent("${OMPI_COMM_WORLD_RANK:-$PMI_RANK}")))
    names = " ".join((*_exported(request), *_MAYBE_EXPORTED))
    folder = shell_word(request.source)
    start = {
        "pbs_tmrsh": 'pbs_tmrsh "${hosts[number]}" bash -c "$text" &',
        "ssh": 'ssh -o BatchMode=yes "${hosts[number]}" "bash -c $(printf %q "$text")" </dev/null &',
    }.get(request.starter)
    if start is None:
        raise RequestError(
            "jobs.essence_launcher",
            "{launcher} needs files beside the script on several nodes; use --to DIR, or another --launcher",
            launcher=f"{request.launcher} ({request.starter})",
        )
    # one line without control characters: the shell on the other node may be any
    return [
        f"run={shell_word(f'cd {folder} && ' + agent('$number'))}",
        'for number in "${!hosts[@]}"; do',
        f'  text="$(declare -p number {names} 2>/dev/null | tr "\\n" ";") $run"',
        f"  {start}",
        '  agents+=("$!")',
        "done",
        *_WAIT.format(children="agents").splitlines(),
    ]


_WAIT = """code=0
for agent in "${{{children}[@]}}"; do wait "$agent" || code=$?; done
exit "$code\""""


def _here(request: Request, program: str) -> list[str]:
    """Return the lines that start all ranks on this node."""
    shape = f"WORLD_SIZE={request.processes} LOCAL_WORLD_SIZE={request.processes}"
    if request.processes == 1:
        return [f"RANK=0 LOCAL_RANK=0 {shape} {program}"]
    return [
        f"for ((rank = 0; rank < {request.processes}; rank++)); do",
        f"  RANK=$rank LOCAL_RANK=$rank {shape} {program} &",
        '  ranks+=("$!")',
        "done",
        *_WAIT.format(children="ranks").splitlines(),
    ]


def _srun(request: Request, per_node: int) -> str:
    threads = request.threads * (request.processes_per_node if per_node == 1 else 1)
    words = [
        "srun", f"--nodes={request.nodes}", f"--ntasks={request.nodes * per_node}", f"--ntasks-per-node={per_node}",
        f"--cpus-per-task={threads}",
        *(binding.srun_words(request.binding) if request.launcher == "srun" else ()),
    ]  # fmt: skip
    return " ".join(words)


def _mpirun(request: Request, per_node: int, command: str) -> list[str]:
    """Return the lines that start a command `per_node` times on each node."""
    ranks = request.nodes * per_node
    added = "".join(f" {shell_word(word)}" for word in request.mpi_options)
    bound = request.binding if request.launcher == "mpirun" else None
    handed = " ".join(f"-x {name}" for name in _exported(request) if name not in request.mpi_options)
    maybe = " ".join(f"${{{name}:+-x {name}}}" for name in _MAYBE_EXPORTED if name not in request.mpi_options)
    several = request.nodes > 1
    lines = [f"printf -v list '%s:{per_node},' \"${{hosts[@]}}\""] if several and request.mpi != "mpich" else []
    openmpi = " ".join([
        f"mpirun -np {ranks}", *binding.openmpi_words(bound, per_node, request.threads),
        *(['--host "${list%,}"', handed, maybe] if several else []),
    ]) + added  # fmt: skip
    mpich = " ".join([
        f"mpiexec -n {ranks} -ppn {per_node}", *binding.mpich_words(bound, request.threads),
        *(['-hosts "$(IFS=,; echo "${hosts[*]}")"'] if several else []),
    ]) + added  # fmt: skip
    if request.mpi == "openmpi":
        return [*lines, f"{openmpi} {command}"]
    if request.mpi == "mpich":
        return [f"{mpich} {command}"]
    return [
        *lines,
        "case $(mpirun --version 2>&1) in # Open MPI and MPICH take different options",
        f'*"Open MPI"* | *OpenRTE* | *PRRTE*) mpi=({openmpi}) ;;',
        f"*) mpi=({mpich}) ;;",
        "esac",
        f'"${{mpi[@]}}" {command}',
    ]


def _exported(request: Request) -> list[str]:
    """Return the names of the variables that ranks on other nodes need."""
    lines = [name for line in request.environment for name in _EXPORTED.findall(line)]
    names = dict.fromkeys((*_ALWAYS_EXPORTED, *request.variables, *lines))
    return [name for name in names if name not in _MAYBE_EXPORTED]


def _shell(text: str) -> str:
    """Return a command that expands the variables of the process in which it runs."""
    return f"bash -c {shell_word(text)}"


def _counted(count: int, singular: str, several: str) -> str:
    return f"{count} {singular if count == 1 else several}"
