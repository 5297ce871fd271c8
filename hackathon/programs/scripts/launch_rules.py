"""Rules about how a job's commands start the processes of a training: how many, where, and how they meet."""

import re

from hackathon.programs.scripts.launches import (
    JobShape,
    Launch,
    batch_variable,
    launches,
    number_of,
    set_nowhere,
    shape_of,
    step_of,
    step_text,
    swapped,
    value_of,
)
from hackathon.programs.scripts.look import ScriptLook
from hackathon.programs.scripts.shell import LITERAL, Command
from hackathon.programs.scripts.step_rules import check_steps
from hackathon.programs.scripts.values import ShellValues
from hackathon.programs.training.launchers import LauncherCall
from hackathon.text.numbers import digits

_MPI_TASK = r"OMPI_COMM_WORLD_\w*RANK|PMIX?_RANK|MPI_LOCAL\w+|MV2_COMM_WORLD_\w*RANK"
_HERE = re.compile(r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::.*)?\Z")
_OWN_NAME = re.compile(rf"{LITERAL}\(hostname|`hostname|{LITERAL}\{{?HOSTNAME\b")
_ADDRESSES = re.compile(r"(?:\$\(|`)\s*hostname\s+(?:-I|--all-ip-addresses)\s*(?:\)|`)\Z")
_ELSEWHERE = re.compile(
    r"(?m)^(?!\s*#).*(?:(?:^|[\s;|&(\"'/])(?:srun|mpirun|mpiexec\S*|aprun|jsrun|ssh|pdsh|clush|pbsdsh|pjrsh|pbs_tmrsh|parallel"
    r"|ray|blaunch|flux|dask|charmrun)\s|hostfile|deepspeed_multinode_launcher|\bPET_)"
)
"""Signs that a script reaches its other nodes itself."""
_ROUTINE = frozenset({"torchrun", "accelerate", "deepspeed", "horovodrun"})
_BY_LOCAL_RANK = re.compile(r"--?(?:distributed|ddp|deepspeed)\b|--launcher[= ]\"?[a-z]|--dist[_-]backend")
"""Options of programs that join their processes by the scheduler's variables, and take the GPU of the local rank."""
_RANKS = frozenset(
    {"RANK", "LOCAL_RANK", "NODE_RANK", "GLOBAL_RANK"}
    | {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}
)
"""Variables that differ between the processes of a node."""
_GPU_WORDS = re.compile(
    r"gpu|gres|tres|cuda|gcd|[avhp]\d00|exclusive|constraint|partition|reservation|qos", re.IGNORECASE
)
_ON_CPUS = re.compile(r"gloo|--cpu\b|use_cpu")
_ENVIRONMENT = re.compile(r"(?:module|ml|source|\.|conda|mamba|micromamba)\Z")
_PATH = re.compile(r"\bPATH=|\bactivate\b|\bmodule\b|\bsource\b|(?:^|[\s;&])\. |/bin/|bash -l|conda run|\benv\b|\.sh\b")


def check_launches(look: ScriptLook) -> None:
    """Report launches that start other processes than the header asks for, or processes that do not meet."""
    if not look.shell.shell:
        return
    shape = shape_of(look)
    every, values = launches(look, shape)
    broken = {finding.line for finding in look.findings if finding.rule == "continuation-broken"}
    every = [launch for launch in every if not broken & set(range(launch.command.line, launch.command.end + 2))]
    for launch in every:
        step = step_of(launch.starter, shape) if launch.starter else shape
        _starters(look, launch, step)
        _world(look, launch, step, values)
        _ranks_of_batch(look, launch, step, values)
        _remote(look, launch)
        _loop(look, launch, shape, values)
    _one_node(look, every, shape)
    _exports(look, every, shape, values)
    _gpus(look, every, shape)
    _conda(look)
    _array(look, every, values)
    _slots(look, every)
    check_steps(look, every, shape, values)


def _local(call: LauncherCall) -> int | None:
    """Return how many processes a launcher starts on each host, if that is a number."""
    if call.launcher == "torchrun":
        return number_of(call, "nproc_per_node", "nproc-per-node")
    if call.launcher == "deepspeed":
        return number_of(call, "num_gpus")
    if call.launcher == "accelerate":
        total, machines = number_of(call, "num_processes"), number_of(call, "num_machines") or 1
        return total // machines if total and machines and total % machines == 0 else None
    return None


_LOCAL_OPTION = {"torchrun": r"--nproc[_-]per[_-]node", "deepspeed": "--num_gpus", "accelerate": "--num_processes"}


def _starters(look: ScriptLook, launch: Launch, step: JobShape) -> None:
    """Report a starter that starts each node's launcher several times."""
    starter, layer = launch.starter, launch.inner
    if starter is None:
        return
    calls = [inner.call for inner in launch.layers]
    if len(calls) > 1 and calls[0].launcher == "srun" and calls[1].launcher == "mpirun" and (step.processes or 0) > 1:
        line, better = swapped(look, launch.command, r"\bsrun\s.*?(?=\S*mpi(?:run|exec))", "")
        look.add("starter-in-starter", line, better, count=step.processes, inner="mpirun", outer="srun")
        return
    local = _local(layer.call) if layer else None
    if layer is None or not step.per_node or step.per_node < 2:
        return
    if layer.call.launcher not in ("torchrun", "accelerate", "deepspeed") or local == 1:
        return
    nodes = step.nodes or 1
    threads = look.request.threads
    own = f"--ntasks={nodes} --ntasks-per-node=1" + (f" --cpus-per-task={threads * step.per_node}" if threads else "")
    share = own if starter.launcher == "srun" else f"-np {nodes} --map-by ppr:1:node"
    counts = r"(?:\s+(?:-np|-npernode|--ntasks-per-node|--ntasks|-n)(?:[ =]+|(?=\d))\S+)*"
    line, better = swapped(look, launch.command, rf"\b{starter.launcher}\b{counts}", f"{starter.launcher} {share}")
    look.add("launches-multiplied", line, better, launcher=layer.call.launcher, count=step.per_node,
             starter=starter.launcher)  # fmt: skip


def _world(look: ScriptLook, launch: Launch, step: JobShape, values: ShellValues) -> None:
    """Report a launcher's counts and addresses that do not fit the nodes."""
    layer, job = launch.inner, look.language.job
    if layer is None or layer.call.launcher not in _ROUTINE:
        return
    call, command = layer.call, launch.command
    local, option = _local(call), _LOCAL_OPTION.get(call.launcher, r"\Z.")
    if local and step.gpus and local > step.gpus and call.launcher != "horovodrun":
        most = step.gpus * ((number_of(call, "num_machines") or 1) if call.launcher == "accelerate" else 1)
        line, better = swapped(look, command, rf"({option})[ =]\S+", f"\\1={most}")
        look.add("processes-over-gpus", line, better, processes=local, gpus=step.gpus, launcher=call.launcher)
    if call.launcher == "accelerate":
        total = number_of(call, "num_processes")
        machines = number_of(call, "num_machines")
        if total and machines and machines > 1 and step.gpus and total == step.gpus and step.nodes == machines:
            line, better = swapped(look, command, r"--num_processes[ =]\S+", f"--num_processes={total * machines}")
            look.add("processes-of-all-nodes", line, better, processes=total, nodes=machines)
    if call.launcher not in ("torchrun", "accelerate"):
        return
    several = number_of(call, "nnodes", "num_machines")
    spread = bool(launch.starter or launch.remote)
    if (
        several
        and step.nodes
        and spread
        and not launch.remote
        and several != step.nodes
        and not command.loop
        and not command.background
    ):
        name = "--nnodes" if call.launcher == "torchrun" else "--num_machines"
        line, better = swapped(look, command, rf"{name}[ =]\S+", f"{name}={step.nodes}")
        look.add("nodes-differ", line, better, launched=several, nodes=step.nodes, launcher=call.launcher)
    _meeting(look, launch, step, several, values)
    address = value_of(call, "rdzv_endpoint", "rdzv-endpoint") or value_of(
        call, "master_addr", "master-addr", "main_process_ip"
    )
    if address and re.search(r"(?:\$\(|`)\s*hostname\s+(?:-I|--all-ip-addresses)\s*[)`]", address):
        line, better = swapped(look, command, r"hostname\s+(?:-I|--all-ip-addresses)\s*(?=[)`])",
                             "hostname -I | awk '{print $1}'")  # fmt: skip
        if line == command.line or look.line(line).find("=$(") < 0:
            look.add("address-list", line, better, name="--rdzv_endpoint")
    host = (address or "").partition(":")[0]
    variable = re.fullmatch(r"\$\{?(\w+)\}?", host)
    if not variable or (layer.later and LITERAL in host):
        return
    first = job.first_node
    if re.fullmatch(job.step_only, variable[1]):
        line, better = swapped(look, command, rf"\$\{{?{variable[1]}\}}?", first)
        look.add("address-of-step", line, better if first else None, variable=variable[1])
    elif set_nowhere(look, variable[1]):
        better = f"export {variable[1]}={first}\n{look.line(command.line)}" if first and command.line else None
        look.add("address-unset", command.line, better, variable=variable[1])


def _written(look: ScriptLook, command: Command, option: str) -> str:
    """Return an option as the command writes it."""
    for number in range(command.line, max(command.end, command.line) + 1):
        match = re.search(option, look.line(number))
        if match:
            return match[0]
    return option


def _meeting(look: ScriptLook, launch: Launch, step: JobShape, several: int | None, values: ShellValues) -> None:
    """Report agents on several nodes that meet nobody."""
    layer, job = launch.inner, look.language.job
    assert layer is not None
    call, command, starter = layer.call, launch.command, launch.starter
    nodes = step.nodes or several or 0
    text = "\n".join(look.source.lines)
    if nodes < 2 or not (starter or launch.remote) or "PET_" in text:
        return
    if starter and step.nodes == 1:
        return
    first, alone = job.first_node, call.launcher == "torchrun"
    count = job.nodes or str(nodes)
    endpoint = value_of(call, "rdzv_endpoint", "rdzv-endpoint")
    address = endpoint or value_of(call, "master_addr", "master-addr", "main_process_ip")
    meets = f"--rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint={first}:29500"
    if alone and "standalone" in call.options:
        line, better = swapped(look, command, r"--standalone", meets if several else f"--nnodes={count} {meets}")
        look.add("meets-nobody", line, better if first else None, what="--standalone", nodes=nodes)
        return
    in_variable = re.match(rf"[${LITERAL}]", (*call.program, "")[0])  # more options, perhaps
    if alone and value_of(call, "nnodes") is None and address is None and starter and not in_variable:
        agent = r"\btorchrun\b|-m torch\.distributed\.(?:run|launch)\b"
        line, better = swapped(look, command, agent, f"{_written(look, command, agent)} --nnodes={count} {meets}")
        look.add("meets-nobody", line, better if first else None, what="torchrun", nodes=nodes)
        return
    if address is None:
        has_file = "config_file" in call.options or call.launcher == "accelerate"
        if alone and several and several > 1 and not has_file and starter:
            line, better = swapped(look, command, r"--nnodes[ =]\S+", f"--nnodes={several} {meets}")
            look.add("meets-nobody", line, better if first else None, what=f"--nnodes={several}", nodes=nodes)
        return
    host = re.sub(r":[^:)]*\Z", "", address)
    if _HERE.match(host) or _OWN_NAME.search(address):
        variable = next((name for name, line in values.lines.items() if values.values.get(name) == host and
                         line < command.line and re.search(rf"\$\{{?{name}\b", text)), "")  # fmt: skip
        if variable:
            line = values.lines[variable]
            better = re.sub(rf"\b{variable}=[^\s;]+", lambda __: f"{variable}={first}", look.line(line), count=1)
        else:
            line, better = swapped(look, command, re.escape(step_text(host)), first)
        look.add("meets-nobody", line, better if first else None, what=step_text(host), nodes=nodes)
        return
    backend = value_of(call, "rdzv_backend", "rdzv-backend")
    rank = value_of(call, "node_rank", "node-rank", "machine_rank")
    by_rank = backend in (None, "static") if alone else backend in (None, "static", "")
    if (
        by_rank
        and rank is None
        and starter
        and several
        and several > 1
        and (alone or "config_file" not in call.options)
    ):
        option = "--node_rank" if alone else "--machine_rank"
        better = _for_each_node(look, command, call.launcher, "", job.node_number, option)
        look.add("rank-missing", command.line, better, option=option, nodes=nodes)


def _for_each_node(
    look: ScriptLook, command: Command, launcher: str, variable: str, number: str, option: str = ""
) -> str | None:
    """Return a command with `bash -c "…"`, in which each node expands its own number."""
    if not number:
        return None
    lines = [look.line(at) for at in range(command.line, max(command.end, command.line) + 1)]
    text = "\n".join(lines)
    start = re.search(
        rf"(?:\S*python\S*\s+(?:-u\s+)?-m\s+)?\S*\b(?:{launcher}|torch\.distributed\.(?:run|launch))\b", text
    )
    if start is None or re.search(r"\bbash\s+-\w*c\b", text):
        return re.sub(rf"\\?\$\{{?{variable}\}}?", lambda __: f"\\${number}", text) if variable and start else None
    end = re.search(r"\s*(?:&\s*|\|.*|\d?>.*)?\Z", text)
    assert end is not None
    inside = text[start.start() : end.start()].replace("\\$", "\\\\$").replace('"', '\\"')
    if variable:
        inside = re.sub(rf"\$\{{?{variable}\}}?", lambda __: f"\\${number}", inside)
    if option:
        inside = inside.replace(
            start[0], f"{start[0]}{' launch' if launcher == 'accelerate' else ''} {option}=\\${number}", 1
        )
        inside = inside.replace(f"=\\${number} launch", f"=\\${number}", 1)
    return f'{text[: start.start()]}bash -c "{inside}"{text[end.start() :]}'


def _ranks_of_batch(look: ScriptLook, launch: Launch, step: JobShape, values: ShellValues) -> None:
    """Report a rank that the batch script expands for all processes together."""
    pattern = f"{look.language.job.of_task}|{_MPI_TASK}"
    starter = launch.starter
    if starter is None or step.processes == 1 or (step.nodes == 1 and step.per_node == 1) or launch.command.loop:
        return
    assigned = re.search(rf"\b(?:LOCAL_|NODE_|GLOBAL_)?RANK=[\"']?\$\{{?({pattern})\b", launch.text)
    if assigned and not look.told(launch.command.line, "rank-once"):
        ranks_of_batch = rf"(RANK=[\"']?)(?=\$\{{?(?:{pattern})\b)"
        line, better = swapped(look, launch.command, ranks_of_batch, "\\1\\")
        better = better and re.sub(ranks_of_batch, r"\1\\", better)
        look.add("rank-once", line, better, variable=assigned[1], starter=starter.launcher)
        return
    layer = launch.inner
    call = layer.call if layer else None
    ranks = (
        [value_of(call, "node_rank", "node-rank", "machine_rank") or ""]
        if call
        else [word for word in launch.program if not re.search(r"\s", word)]
    )
    if call and (value_of(call, "rdzv_backend", "rdzv-backend") or "static") != "static":
        return
    for text in ranks:
        variable = batch_variable(text, pattern)
        if not variable or (
            call is None and not re.search(r"rank", text, re.IGNORECASE) and not _rank_before(launch, text)
        ):
            continue
        number = look.language.job.node_number if call and starter.launcher == "srun" else variable
        name = next((name for name in values.lines if variable in values.values.get(name, "") and
                     any(re.search(rf"\$\{{?{name}\b", word) for word in launch.command.marked)), variable)  # fmt: skip
        better = _for_each_node(
            look, launch.command, call.launcher if call else re.escape(launch.program[0]), name, number or variable
        )
        look.add("rank-once", launch.command.line, better, variable=variable, starter=starter.launcher)
        return


def _rank_before(launch: Launch, text: str) -> bool:
    """Return whether a word is the value of an option such as `--rank`."""
    at = launch.program.index(text)
    return at > 0 and re.fullmatch(r"-{1,2}[\w-]*rank", launch.program[at - 1]) is not None


def _remote(look: ScriptLook, launch: Launch) -> None:
    """Report a command on another host without the environment that the script sets up."""
    if launch.remote != "ssh" or _PATH.search(launch.text) or look.told(launch.command.line, "ssh-without-environment"):
        return
    program = (launch.layers[0].call.launcher if launch.layers else "") or (launch.program[:1] or ("",))[0]
    if not re.match(r"(?:python[\d.]*|torchrun|accelerate|deepspeed)\Z", program):
        return
    before = [
        command.raw.strip() for command in look.shell.commands
        if command.line < launch.command.line and _ENVIRONMENT.match(command.words[0]) and not command.depth
        and set(command.words) & {"load", "activate"} | {word for word in command.words if "activate" in word}
    ]  # fmt: skip
    if not before:
        return
    raw = look.line(launch.command.line)
    at = raw.find(program)
    directory = "" if re.search(r"\bcd\s", launch.text) else "cd $PWD; "
    better = f"{raw[:at]}{directory}{'; '.join(before)}; {raw[at:]}" if at > 0 and '"' in raw[:at] else None
    look.add("ssh-without-environment", launch.command.line, better, command=before[-1])


def _loop(look: ScriptLook, launch: Launch, shape: JobShape, values: ShellValues) -> None:
    """Report a loop over nodes that waits for the first of agents that wait for all."""
    layer, command = launch.inner, launch.command
    if layer is None or not command.loop or not (launch.remote or launch.starter):
        return
    several = number_of(layer.call, "nnodes", "num_machines") or 0
    if launch.starter and step_of(launch.starter, shape).nodes != 1:
        return
    if (
        several < 2
        or value_of(layer.call, "node_rank", "node-rank", "machine_rank", "rdzv_endpoint", "rdzv-endpoint") is None
    ):
        return
    line = max(command.end, command.line)
    if command.background:
        waits = next((other for other in look.shell.commands if other.words[0] == "wait" and other.line > line), None)
        if waits is not None and waits.loop == command.loop and waits.depth >= command.depth:
            done = next((text for text in look.source.lines[waits.line :] if re.match(r"\s*done\b", text)), None)
            look.add(
                "loop-waits",
                waits.line,
                f"{done}\n{done[: len(done) - len(done.lstrip())]}wait" if done else None,
                nodes=several,
            )
        return
    look.add("loop-waits", line, f"{look.line(line).rstrip().removesuffix(';')} &", nodes=several)


def _one_node(look: ScriptLook, every: list[Launch], shape: JobShape) -> None:
    """Report a launcher that starts processes on the first of several nodes only."""
    nodes = shape.nodes or 1
    text = "\n".join(look.source.lines)
    if nodes < 2 or _ELSEWHERE.search(text.replace("\\\n", " ").replace("horovodrun", "")):
        return
    for launch in every:
        layer = launch.inner
        if layer is None and not launch.layers and not launch.remote and _trains_alone(look, launch):
            starter = "srun " if look.language.job.default_nodes else ""
            raw = look.line(launch.command.line)
            better = re.sub(r"(?=\S*\bpython[\d.]*\s)", starter, raw, count=1) if starter else None
            look.add("one-node-only", launch.command.line, better, launcher="python", nodes=nodes)
            return
        if layer is None or launch.starter or launch.remote or layer.call.launcher not in _ROUTINE:
            continue
        call = layer.call
        if call.launcher == "deepspeed" and {"H", "hostfile", "force_multi"} & call.options.keys():
            continue
        if call.launcher == "horovodrun" and (
            {"H", "hosts", "hostfile"} & call.options.keys() or (number_of(call, "np") or 0) <= (shape.gpus or 1)
        ):  # fmt: skip
            continue
        starter = f"srun --ntasks={nodes} --ntasks-per-node=1 " if look.language.job.default_nodes else ""
        raw = look.line(launch.command.line)
        start = re.search(r"(?:\S*python\S*\s.*)?\S*(?:torchrun|torch\.distributed|accelerate|deepspeed)", raw)
        better = f"{raw[: start.start()]}{starter}{raw[start.start() :]}" if starter and start else None
        look.add("one-node-only", launch.command.line, better, launcher=call.launcher, nodes=nodes)
        return


def _trains_alone(look: ScriptLook, launch: Launch) -> bool:
    """Return whether a program of Python without launcher is all that runs in a job of several processes with GPUs."""
    request = look.request
    programs = [command for command in look.shell.commands if re.match(r"(?:\S*/)?python[\d.]*\Z", command.words[0])]
    return bool(
        launch.program
        and _program_is_python(launch)
        and len(programs) == 1
        and (request.processes_per_node or 0) > 1
        and request.gpus
        and not launch.command.background
        and re.search(r"\s\S*(?<!launch)(?<!launcher)(?<!submit)\.py\b", " ".join(launch.program))
    )


def _exports(look: ScriptLook, every: list[Launch], shape: JobShape, values: ShellValues) -> None:
    """Report variables of the batch script that are right for one process only."""
    job = look.language.job
    started = [
        (launch, step_of(launch.starter, shape)) for launch in every
        if launch.starter and launch.inner is None and launch.command.loop == ""
    ]  # fmt: skip
    for name, line in values.lines.items():
        value = values.values.get(name, "")
        raw = look.line(line)
        if _ADDRESSES.match(value) and (name == "MASTER_ADDR" or _used(look, every, name)):
            better = re.sub(r"(hostname\s+(?:-I|--all-ip-addresses))\s*", r"\1 | awk '{print $1}'", raw)
            look.add("address-list", line, better, name=name)
        several = [launch for launch, step in started if (step.processes or 0) > 1 and launch.command.line > line]
        variable = batch_variable(value, f"{job.of_task}|{_MPI_TASK}")
        if (
            name in _RANKS
            and variable
            and several
            and look.directives
            and re.search(r"\bexport\b", "\n".join(look.source.lines))
        ):
            launch = several[0]
            number = re.escape(launch.program[0]) if launch.program else ""
            text = look.line(launch.command.line)
            wrapped = launch.command.line == launch.command.end and '"' not in text and "'" not in text and number
            at = text.find(launch.program[0]) if launch.program else -1
            end = re.search(r"\s*&?\s*\Z", text)
            shell = None
            if wrapped and at > 0 and end:
                program = text[at : end.start()]
                shell = f"{text[:at]}bash -c 'export {name}=${variable}; exec {program}'{text[end.start() :]}"
            look.add("rank-once", line, shell, variable=variable, starter="srun")
        far = [launch for launch, step in started if (step.nodes or 1) > 1 and launch.command.line > line]
        if name == "MASTER_ADDR" and _HERE.match(value) and far:
            better = re.sub(r"MASTER_ADDR=[^\s;]+", lambda __: f"MASTER_ADDR={job.first_node}", raw)
            look.add("meets-nobody", line, better if job.first_node else None, what=value, nodes=shape.nodes)
        size = digits(value, 7) if name == "WORLD_SIZE" else None
        if size and len(started) == 1:
            launch, step = started[0]
            if step.processes and step.processes != size and launch.program and _program_is_python(launch):
                look.add(
                    "world-differs",
                    *_processes_line(look, line, raw, size, shape),
                    value=size,
                    processes=step.processes,
                )


def _processes_line(look: ScriptLook, line: int, raw: str, size: int, shape: JobShape) -> tuple[int, str | None]:
    """Return the header's line for a number of processes; without one the export's, with the number that runs."""
    for setting in look.settings:
        if look.language.read([setting]).processes is not None and shape.nodes == 1:
            header = look.line(setting.line)
            return setting.line, header.replace(setting.value, str(size), 1)
    return line, re.sub(r"WORLD_SIZE=\S+", f"WORLD_SIZE={shape.processes}", raw)


def _program_is_python(launch: Launch) -> bool:
    return re.match(r"(?:\S*/)?python[\d.]*\Z", launch.program[0]) is not None


def _used(look: ScriptLook, every: list[Launch], name: str) -> bool:
    pattern = re.compile(rf"\$\{{?{name}\b")
    return any(pattern.search(word) for launch in every for word in launch.command.marked)


def _gpus(look: ScriptLook, every: list[Launch], shape: JobShape) -> None:
    """Report GPUs that a process does not get: none requested, hidden by the request, or set by hand."""
    header = "\n".join(directive.raw for directive in look.directives)
    text = "\n".join(look.source.lines)
    for launch in every:
        layer = launch.inner
        local = _local(layer.call) if layer else None
        if not local or local < 2 or not shape.nodes or shape.gpus is not None or not look.directives:
            continue
        if look.language.job.default_nodes and not _GPU_WORDS.search(header) and not _ON_CPUS.search(text):
            better = f"{look.language.prefix} --gpus-per-node={local}"
            look.add("gpus-not-requested", launch.command.line, better, processes=local)
            break
    own = next((setting for setting in look.settings if look.language.read([setting]).gpus_per_process == 1), None)
    if (
        own
        and (shape.per_node or 0) > 1
        and shape.per_node
        and not re.search(r"--gpu-bind[ =]\"?(?:none|map_gpu|mask_gpu)", "\n".join(look.source.lines))
    ):
        for launch in every:
            trains = _BY_LOCAL_RANK.search(" ".join(launch.program))
            if launch.starter and launch.starter.launcher == "srun" and launch.inner is None and trains:
                other = re.sub(r"--gpus-per-task[ =]\S+", f"--gpus-per-node={shape.per_node}", look.line(own.line))
                look.add("own-gpu-only", own.line, other)
                break
    for launch in every:
        step = step_of(launch.starter, shape) if launch.starter and launch.inner is None else None
        if step is None or not (step.per_node and step.gpus and launch.program and _program_is_python(launch)):
            continue
        joins = re.search(r"\bMASTER_ADDR=", text) and not _ON_CPUS.search(text)
        counted = next((setting.line for setting in look.settings if setting.key == "--ntasks-per-node"), 0)
        if step.per_node > step.gpus and step.per_node == shape.per_node and joins and counted:
            better = re.sub(rf"\b{step.per_node}\b", str(step.gpus), look.line(counted), count=1)
            look.add("processes-over-gpus", counted, better, processes=step.per_node, gpus=step.gpus, launcher="srun")
            break
    for launch in every:
        binds = launch.starter and {"accel-bind", "gpu-bind", "gpus-per-task"} & launch.starter.options.keys()
        if binds and "none" not in launch.starter.options.get("gpu-bind", ""):  # type: ignore[union-attr]
            line = next((line for name, line in _assigned(look) if name == "CUDA_VISIBLE_DEVICES"), None)
            # srun itself sets the variable of a process after that of the batch script
            inside = line and launch.command.line <= line <= launch.command.end
            if line and (inside or "accel-bind" in binds):
                raw = look.line(line)
                without = re.sub(r"(?<![\w])CUDA_VISIBLE_DEVICES=\S+\s+(?=\S)", "", raw)
                better = f"# {raw}" if without == raw else without
                look.add("devices-override", line, better, option="--" + sorted(binds)[0])
                break


def _assigned(look: ScriptLook) -> list[tuple[str, int]]:
    pairs = []
    for command in look.shell.commands:
        pairs += [(match[1], command.line) for word in command.words if (match := re.match(r"(\w+)=\d+,\d", word))]
    return pairs


def _conda(look: ScriptLook) -> None:
    """Report `conda activate` in a shell that does not know conda."""
    job = look.language.job
    login = re.match(r"#!.*\s(?:-\w*[li]\w*|--login)\b", look.line(1)) if look.source.lines else None
    if job.keeps_functions or not look.directives or login:
        return
    for command in look.shell.commands:
        words = command.words
        if words[0] in ("source", ".", "eval", "module", "ml") or re.search(
            r"conda\.sh|shell\.bash|\bhook\b|bash_profile|bashrc", command.raw
        ):
            return
        if words[:2] == ("conda", "activate"):
            better = f'eval "$(conda shell.bash hook)"\n{command.raw}'
            look.add("conda-without-hook", command.line, better)
            return


def _array(look: ScriptLook, every: list[Launch], values: ShellValues) -> None:
    """Report what the jobs of an array share: a file for their output, a port on one node."""
    job = look.language.job
    array = look.setting(job.array) if job.array else None
    if array is None or not look.directives:
        return
    wide, enough = job.array_path
    appends = look.setting("--open-mode")
    for setting in look.settings if enough and not (appends and appends.value == "append") else ():
        path = setting.value
        is_path = look.language.read([setting]).output is not None or setting.key in ("--output", "--error")
        if is_path and path and not re.search(enough, path) and not path.startswith("/dev/"):
            stem, dot, ending = path.rpartition(".")
            named = f"{stem}-{wide}.{ending}" if dot and "/" not in ending else f"{path}-{wide}"
            look.add("array-output", setting.line, look.line(setting.line).replace(path, named, 1), path=path)
    line = values.lines.get("MASTER_PORT", 0)
    port = digits(values.values.get("MASTER_PORT", ""), 5)
    text = "\n".join(look.source.lines)
    shares = look.request.nodes in (None, 1) and not look.request.exclusive
    if port and line and shares and every:
        better = re.sub(r"MASTER_PORT=[\"']?\d+[\"']?", f"MASTER_PORT=$(({port} + {job.array_task}))", look.line(line))
        look.add("array-port", line, better, port=port)
        return
    for launch in every if shares else ():
        call = launch.inner.call if launch.inner else None
        address = (value_of(call, "rdzv_endpoint", "rdzv-endpoint") or "") if call else ""
        fixed = digits(
            (value_of(call, "master_port", "master-port", "main_process_port") or address.rpartition(":")[2])
            if call
            else "",
            5,
        )
        if fixed and job.array_task not in "".join(launch.command.marked):
            at, better_line = swapped(look, launch.command, rf"\b{fixed}\b", f"$(({fixed} + {job.array_task}))")
            if re.search(rf"\b{fixed}\b", text):
                look.add("array-port", at, better_line, port=fixed)
                return


def _slots(look: ScriptLook, every: list[Launch]) -> None:
    """Report ranks for which mpirun has no slots, because the request does not name processes."""
    request = look.request
    text = "\n".join(look.source.lines)
    if re.search(r"PrgEnv-|\bcray-|\bmpich\b", text):  # their mpirun does not count slots
        return
    if not look.language.job.slots_by_chunk or request.total() is not None or not request.nodes or request.nodes < 2:
        return
    for launch in every:
        starter = launch.layers[0].call if launch.layers else None
        if starter is None or starter.launcher != "mpirun" or not starter.sure:
            continue
        ranks = number_of(starter, "np", "n")
        placed = {
            "npernode",
            "ppn",
            "perhost",
            "map-by",
            "N",
            "host",
            "H",
            "hosts",
            "oversubscribe",
        } & starter.options.keys()
        setting = next((setting for setting in look.settings if look.language.read([setting]).nodes), None)
        if not ranks or placed or ranks <= request.nodes or setting is None:
            continue
        share = ranks // request.nodes if ranks % request.nodes == 0 else 0
        chunk = look.line(setting.line).replace(setting.value, f"{setting.value}:mpiprocs={share}", 1)
        plain = share and setting.key.endswith("select") and "+" not in setting.value
        look.add("slots-missing", setting.line, chunk if plain else None, ranks=ranks, nodes=request.nodes)
        return
