"""Rules about a header's request: values, contradictory numbers, and limits of the machine."""

import re
from typing import TYPE_CHECKING, Any

from hackathon.programs.scripts.look import ScriptLook
from hackathon.programs.scripts.machines import machine_with_type
from hackathon.schedulers.registry import known_dialect
from hackathon.schedulers.scripts import ScriptRequest, Setting, Severity
from hackathon.text.messages import Message, _
from hackathon.text.units import format_walltime

if TYPE_CHECKING:
    from hackathon.config.cluster import Queue


def check_values(look: ScriptLook) -> None:
    """Check values by the scheduler's own tables."""
    for verdict in (verdict for part in look.parts for verdict in look.language.judge(part)):
        if look.told(verdict.line, "spaced-equals", "full-width"):
            continue
        if verdict.rule == "bad-value" and look.told(verdict.line, "placeholder"):
            continue
        line = look.line(verdict.line)
        better = line.replace(*verdict.better, 1) if verdict.better and verdict.better[0] in line else None
        values: dict[str, Any] = dict(verdict.values)
        look.add(verdict.rule, verdict.line, better if better != line else None,
                 severity=verdict.severity, effect=verdict.effect, **values)  # fmt: skip
    _types_of_others(look)


def check_machine(look: ScriptLook) -> None:
    """Report what this machine, known by its profile or the script, does not allow."""
    _queue(look)
    _group(look)
    _site(look)
    if look.cluster is not None:
        _node(look)


def _setting_of(look: ScriptLook, field: str) -> Setting | None:
    """Return the setting of a field of the request."""
    empty = getattr(ScriptRequest(), field)
    return next(
        (setting for setting in reversed(look.settings) if getattr(look.language.read([setting]), field) != empty), None
    )


def _queue(look: ScriptLook) -> None:
    name, setting = look.request.queue, _setting_of(look, "queue")
    better = look.machine.scripts.internal_queues.get(name or "") if look.machine else None
    qos = look.setting("--qos")
    if better is None and look.cluster is not None and (name is not None or qos is not None):
        queues = {key: queue for key, queue in look.cluster.queues.items() if _partition(key, queue) == (name or "")}
        with_qos = [key for key, queue in queues.items() if queue.qos == (qos.value if qos else None)]
        likely = with_qos or [key for key, queue in queues.items() if queue.qos is None]
        if len(likely) == 1:
            _limits(look, likely[0], queues[likely[0]])
        if queues:
            return
    if name is None or setting is None:
        return
    line = look.line(setting.line)
    if look.machine and better is not None:
        look.add("queue-internal", setting.line, line.replace(name, better, 1), queue=name, better=better,
                 site=look.machine.name, severity="error" if look.cluster else None)  # fmt: skip
    elif look.cluster is not None and look.cluster.queues:
        names = name.split(",") if look.language.several_queues else [name]
        reserved = re.compile(look.language.reservations)
        known = list(filter(None, dict.fromkeys(_partition(*entry) for entry in look.cluster.queues.items())))
        unknown = ", ".join(queue for queue in names if queue not in known and not reserved.fullmatch(queue))
        if unknown:
            look.add("queue-unknown", setting.line, queue=unknown, cluster=look.cluster.name, known=", ".join(known))


def _partition(name: str, queue: "Queue") -> str:
    """Return what a job names to get into a queue: its partition, "" for none, or the queue itself."""
    return name if queue.partition_named is None else queue.partition_named


def _limits(look: ScriptLook, name: str, queue: "Queue") -> None:
    """Compare with the limits of a queue, with the messages of `hackathon check`."""
    assert look.cluster is not None
    request, cluster = look.request, look.cluster

    def over(field: str, key: str, name_of_limit: str, **values: object) -> None:
        setting = _setting_of(look, field)
        doubt = cluster.is_unverified(f"queues.{name}.{name_of_limit}")
        if key != "jobs.nodes_under":
            values["unsure"] = _(" (unverified limit)") if doubt else ""
        text = _(key, queue=name, **values)
        severity: Severity | None = "warning" if doubt else None
        look.add("over-limit", setting.line if setting else 1, text=text, severity=severity)

    if request.nodes and queue.nodes and request.nodes > queue.nodes:
        over(
            "nodes",
            Message("jobs.nodes_over", "{nodes} nodes: queue {queue} allows at most {limit}{unsure}"),
            "nodes",
            nodes=request.nodes,
            limit=queue.nodes,
        )
    if request.nodes and request.nodes < queue.min_nodes:
        over(
            "nodes",
            Message("jobs.nodes_under", "{nodes} nodes: queue {queue} needs at least {limit}"),
            "min_nodes",
            nodes=request.nodes,
            limit=queue.min_nodes,
        )
    longest = queue.longest(request.nodes or 1)
    if request.walltime and longest and request.walltime > longest:
        over(
            "walltime",
            Message("jobs.walltime_over", "walltime {walltime}: queue {queue} allows at most {limit}{unsure}"),
            "walltime" if longest == queue.walltime else "larger",
            walltime=format_walltime(request.walltime),
            limit=format_walltime(longest),
        )


def _group(look: ScriptLook) -> None:
    """Compare the option for the account to charge with that of the machine."""
    option = look.language.group_options.get(str(look.cluster.dialect.get("group", ""))) if look.cluster else None
    group = next((setting for setting in look.settings if setting.key in look.language.group_options.values()), None)
    if look.machine and look.has_rule("no-group-option") and look.request.account is not None:
        setting = _setting_of(look, "account")
        look.add("no-group-option", setting.line if setting else 1, site=look.machine.name)
    if option is None or look.cluster is None:
        return
    if group is None:
        if look.directives and known_dialect(look.cluster).wants_group:
            look.add("group-missing", look.directives[0].line, cluster=look.cluster.name, option=option)
    elif group.key != option:
        written = f"{option}={group.value}" if " " in option else f"{option} {group.value}"
        better = f"{look.language.prefix} {written}"
        only = len(next(directive.settings for directive in look.directives if directive.line == group.line)) == 1
        look.add("other-group-option", group.line, better if only else None, cluster=look.cluster.name,
                 option=group.key, better=written)  # fmt: skip


def _site(look: ScriptLook) -> None:
    if look.machine is None:
        return
    passing = look.setting(look.language.passes_environment) if look.language.passes_environment else None
    if look.has_rule("environment-not-passed") and passing:
        look.add("environment-not-passed", passing.line, option=passing.written, site=look.machine.name)
    gpus = _setting_of(look, "gpus")
    if look.has_rule("gpus-given") and gpus:
        look.add("gpus-given", gpus.line, site=look.machine.name)


def _types_of_others(look: ScriptLook) -> None:
    """Find resource types of a machine with another scheduler, where this one has them not."""
    for setting in look.settings if look.language.whole_nodes else ():
        name = setting.key.partition(" ")[2]
        machine = machine_with_type(name, look.language) if name else None
        if machine is None:
            continue
        queue = machine.queues[name]
        nodes = look.language.whole_nodes.format(count=setting.value)
        better = look.line(setting.line).replace(f"{name}={setting.value}", nodes)
        is_whole = queue.processes_per_node is None and queue.nodes != 1
        look.add("unknown-resource", setting.line, better if is_whole else None, name=name)


def _node(look: ScriptLook) -> None:
    """Compare with the shape of a node."""
    assert look.cluster is not None
    node, request, cluster = look.cluster.node, look.request, look.cluster
    over = isinstance(node.gpus, int) and 0 < node.gpus < (request.gpus or 0)
    if over and not request.spread:
        setting = _setting_of(look, "gpus")
        doubt = cluster.is_unverified("node.gpus")
        look.add("gpus-over", setting.line if setting else 1, gpus=request.gpus, there=node.gpus,
                 cluster=look.cluster.name, severity="warning" if doubt else None)  # fmt: skip
    per_node = request.per_node()
    if isinstance(node.cores, int) and per_node and request.threads and per_node * request.threads > node.cores:
        setting = _setting_of(look, "threads")
        look.add("threads-over", setting.line if setting else 1, processes=per_node, threads=request.threads,
                 cores=node.cores)  # fmt: skip


def check_numbers(look: ScriptLook) -> None:
    """Compare the header's numbers with each other."""
    request = look.request
    per_node = request.per_node()
    if request.cores and per_node and request.threads and per_node * request.threads > request.cores:
        setting = _setting_of(look, "threads")
        look.add("threads-over", setting.line if setting else 1, processes=per_node, threads=request.threads,
                 cores=request.cores)  # fmt: skip
