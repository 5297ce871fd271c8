"""How Fujitsu's job manager (PJM) reads a job script, for the linter and the converter: from public material.

No server was available, so only what pages and recorded output confirm is an error.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hackathon.schedulers.pjm.dialect import PjmDialect
from hackathon.schedulers.scripts import (
    Judgement,
    Reading,
    ScriptLanguage,
    ScriptRequest,
    Setting,
    clock,
    quoted,
    short_clock,
    table,
)
from hackathon.text.numbers import digits
from hackathon.text.units import format_walltime

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

OPTIONS = table("""
--appname 1
--at 1
--bulk 0
--comment 1
--fs 1
--interact 0
--llio 1
--mail-list 1
--mpi 1
--name -N 1
--no-check-directory 0
--norestart 0
--omp 1
--out -o 1
--err -e 1
--restart 0
--rsc-list -L 1
--sparam 1
--spath 1
--stg-transfiles 1
--step 0
--vset 1
-g 1
-j 0
-m 1
-p 1
-S 0
-s 0
-w 1
-X 0
-x 1
-z 1
""")


def read(settings: Iterable[Setting]) -> ScriptRequest:
    """Return the request of a header."""
    request, bulk = ScriptRequest(), None
    for setting in settings:
        value, taken = setting.value, True
        match setting.key:
            case "--name":
                request.name = value
            case "--rsc-list rscgrp" | "--rsc-list rg":
                request.queue = value
            case "-g":
                request.account = value
            case "--rsc-list node" if digits(value.split(":")[0]) is not None:
                request.nodes = digits(value.split(":")[0])
            case "--rsc-list gpu" if digits(value) is not None:
                request.gpus, request.nodes = digits(value), request.nodes or 1
            case "--rsc-list elapse" if digits(value) or clock(value):
                request.walltime = digits(value) or clock(value)
            case "--mpi proc" if digits(value) is not None:
                request.processes = digits(value)
            case "--mpi max-proc-per-node" if digits(value) is not None:
                request.processes_per_node = digits(value)
            case "--omp thread" if digits(value) is not None:
                request.threads = digits(value)
            case "--out" | "--err" if "%" not in value.replace("%j", ""):
                setattr(request, "output" if setting.key == "--out" else "error", value)
            case "-j":
                request.merge = True
            case "-m":
                names = {"b": "begin", "e": "end"}
                parts = value.split(",")
                taken = set(parts) <= set(names)
                events = {names[part] for part in parts if part in names}
                request.mail_on = frozenset((request.mail_on or frozenset()) | events)
            case "--mail-list":
                request.mail_user = value
            case "--norestart" | "--restart":
                request.rerun = setting.key == "--restart"
            case "-x":
                request.variables = ",".join(filter(None, (request.variables, value)))
            case "-X":
                request.inherit = True
            case "--bulk":
                bulk = setting
            case "--sparam" if re.fullmatch(r"\d+-\d+", value):
                request.array = value
            case _:
                taken = False
        if taken:
            request.taken.add(setting)
    if bulk is None or request.array is None:  # each is nothing without the other
        request.taken = {setting for setting in request.taken if setting.key not in ("--bulk", "--sparam")}
        request.array = None
    return request


def write(request: ScriptRequest, dialect: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """Return the options for the same request: GPUs if a queue of the profile allocates parts of a node, else nodes.

    `-L gpu=` excludes `-L node=` and `--mpi proc=`. A node always has all its GPUs: another number is lost.
    """
    shares = _shares(request, dialect)
    events = {"begin": "b", "end": "e"}
    letters = ",".join(sorted(events[event] for event in request.mail_on or () if event in events))
    paths = [name for name in ("output", "error") if "%" in (getattr(request, name) or "").replace("%j", "")]
    lines = [
        request.name and "-N " + re.sub(r"\s", "_", request.name),
        request.queue and f"-L rscgrp={request.queue}",
        f"-L gpu={request.gpus}" if shares else request.nodes and f"-L node={request.nodes}",
        request.total() and not shares and f"--mpi proc={request.total()}",
        request.threads and f"--omp thread={request.threads}",
        request.walltime and f"-L elapse={format_walltime(request.walltime)}",
        request.account and dialect.get("group") != "none" and f"-g {request.account}",
        request.output and "output" not in paths and f"-o {request.output}",
        "-j" if request.merge or (request.merge is None and not request.error) else None,
        request.error and not request.merge and "error" not in paths and f"-e {request.error}",
        letters and f"-m {letters}",
        request.mail_user and f"--mail-list {request.mail_user}",
        request.rerun is not None and ("--restart" if request.rerun else "--norestart"),
        request.variables and f"-x {quoted(request.variables)}",
        request.inherit and "-X",
        request.array and f"--bulk --sparam {re.split('[:%]', request.array)[0]}",
    ]
    lost = [name for name in ("after_ok", "after_any", "memory") if getattr(request, name)]
    # there is neither a step nor a limit of tasks at the same time
    lost += ["array"] if re.search("[:%]", request.array or "") else []
    lost += ["directory"] if request.directory not in (None, ".") else []
    lost += paths
    if shares:
        lost += [name for name in ("processes", "processes_per_node") if (getattr(request, name) or 1) > 1]
    elif request.gpus and request.gpus != dialect.get("node_gpus"):
        lost.append("gpus")
    if not shares and not request.nodes and (request.processes_per_node or 1) > 1:
        lost.append("processes_per_node")
    return [str(line) for line in lines if line], lost


def _shares(request: ScriptRequest, dialect: Mapping[str, object]) -> bool:
    """Return whether the request is for GPUs of one node instead of the node."""
    queues, most = dialect.get("gpu_queues"), dialect.get("gpus_of_node")
    pjm = PjmDialect(
        gpu_queues=queues if isinstance(queues, str) else "", gpus_of_node=most if isinstance(most, int) else 0
    )
    return not request.exclusive and pjm.asks_for_gpus(request.queue, request.nodes or 1, request.gpus or 0)


def judge(settings: list[Setting]) -> Iterator[Judgement]:
    """Yield settings that PJM misunderstands."""
    by_key = {setting.key: setting for setting in settings}
    for option in settings:
        if option.key == "--rsc-list elapse":
            yield from short_clock(option, clock(option.value))
    node, gpu = by_key.get("--rsc-list node"), by_key.get("--rsc-list gpu")
    if node and gpu:
        yield Judgement("node-and-gpu", gpu.line)
    proc = by_key.get("--mpi proc")
    nodes, total = digits(node.value) if node else None, digits(proc.value) if proc else None
    if proc and nodes and total and total < nodes:
        yield Judgement("total-processes", proc.line, {"processes": total, "nodes": nodes})


def _of_machine(language: ScriptLanguage, machine: "Cluster") -> ScriptLanguage:
    """Return the language of a machine, some of whose queues give GPUs of a node."""
    return replace(language, judge=functools.partial(_judge_shares, machine=machine))


def _judge_shares(settings: list[Setting], machine: "Cluster") -> Iterator[Judgement]:
    """Yield requests for nodes in a queue of GPUs, for GPUs in a queue of nodes, and for too many."""
    yield from judge(settings)
    by_key = {setting.key: setting for setting in settings}
    queue = by_key.get("--rsc-list rscgrp") or by_key.get("--rsc-list rg")
    pattern = str(machine.dialect.get("gpu_queues") or "")
    if queue is None or not pattern:
        return
    node, gpu = by_key.get("--rsc-list node"), by_key.get("--rsc-list gpu")
    limits = machine.queues.get(queue.value)
    values = {"queue": queue.value, "site": machine.name}
    if re.fullmatch(pattern, queue.value):
        if node and not gpu and not machine.dialect.get("gpus_of_node"):
            yield Judgement(
                "gpus-by-share", node.line, {"better": "-L gpu=1", **values}, (f"node={node.value}", "gpu=1")
            )
        most = limits.processes_per_node if limits else None
        if gpu and most and (digits(gpu.value) or 0) > most:
            yield Judgement(
                "site-limit", gpu.line, {"what": f"gpu={gpu.value}", "limit": f"gpu={most}", "site": machine.name}
            )
    elif gpu and not node and limits is not None:
        yield Judgement("nodes-not-gpus", gpu.line, {"better": "-L node=1", **values}, (f"gpu={gpu.value}", "node=1"))


LANGUAGE = ScriptLanguage(
    name="pjm",
    title="PJM",
    prefix="#PJM",
    options=OPTIONS,
    read=read,
    write=write,
    judge=judge,
    lists=frozenset({"--rsc-list", "--mpi", "--omp"}),
    variables=r"PJM_[A-Z_]+",
    shared_id=True,
    gives_nodes=True,
    meanings={
        "PJM_JOBID": "id",
        "PJM_JOBNAME": "name",
        "PJM_O_WORKDIR": "folder",
        "PJM_BULKNUM": "task",
        "PJM_NODE": "nodes",
        "PJM_MPI_PROC": "processes",
        "PJM_PROC_BY_NODE": "processes of a node",
        "PJM_O_NODEINF": "nodes file",
    },
    submit_folder="PJM_O_WORKDIR",
    passes_environment="-X",
    reading=Reading(trailing_comment="sometimes", spaced_equals="sometimes"),
    stray=r"(?:rscgrp|rg|rscunit|node|gpu|elapse|jobenv|vnode|vnode-core)=.*",
    commands={r"srun\b": "no-such-launcher"},
    of_machine=_of_machine,
)
