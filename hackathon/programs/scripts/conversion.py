"""Convert a job script for another scheduler: its header, and the scheduler's variables in its commands."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from hackathon.programs.scripts.body_conversion import shift_of_tasks, translated
from hackathon.programs.scripts.findings import LintFinding, LintReport
from hackathon.programs.scripts.lint import language_of
from hackathon.programs.scripts.look import ScriptLook, first_command, look_at
from hackathon.programs.scripts.source import ScriptText
from hackathon.schedulers import registry
from hackathon.schedulers.scripts import ScriptLanguage, ScriptRequest, Setting, quoted
from hackathon.text.errors import RequestError
from hackathon.text.messages import _
from hackathon.text.printable import printable
from hackathon.text.units import format_walltime

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster, Queue

_REFUSED = frozenset({"over-limit", "site-limit", "gpus-over"})
"""Rules of the check that no machine accepts."""


class UntranslatedLine(NamedTuple):
    """A line with something that the other scheduler has no words for."""

    line: int
    """Of the original script, counted from 1."""
    text: str
    """The directive, or the variable in a command."""
    why: str


class ConversionChange(NamedTuple):
    """Something that is not the same in the new script."""

    field: str
    """A field of ScriptRequest, or `variable`."""
    before: str
    after: str
    why: str


@dataclass(frozen=True)
class Converted:
    """A script for another scheduler."""

    source: str
    """The original script's scheduler."""
    target: str
    script: ScriptText
    not_translated: tuple[UntranslatedLine, ...]
    """Directives are comments in the new script; commands are unchanged."""
    changed: tuple[ConversionChange, ...]
    queue: str | None = None
    """The queue that the script does not name itself: the cluster's default."""


def convert(
    source: ScriptText, cluster: "Cluster | None", language: ScriptLanguage, origins: Sequence["Cluster"] = ()
) -> Converted:
    """Return a script for a cluster, or for a scheduler without a profile.

    A directive without an equivalent becomes a comment in its place. Names of queues and groups stay unless the cluster
    lacks that name. `origins`: clusters that the script may be for; if its queue there allocates whole nodes, the new
    header requests the GPUs, cores and memory of such a node. Raises RequestError: no directives, or several kinds.
    """
    look = _looked_at(source)
    return _Conversion(look, source, cluster, language, origins).result()


def _looked_at(source: ScriptText) -> ScriptLook:
    """Return the parsed script, with the options of its scheduler's relatives."""
    language = language_of(source)
    look = look_at(source, language.relatives or language, registry.script_languages()) if language else None
    if look is None or not look.directives:
        raise RequestError(
            "lint.no_directives", "{path} has no directives of a known scheduler", path=printable(source.name)
        )
    return look


def refused(report: LintReport) -> LintFinding | None:
    """Return the first reason why the cluster refuses the new script, by the limits of its profile."""
    return next(
        (finding for finding in report.findings if finding.rule in _REFUSED and finding.severity == "error"), None
    )


class _Conversion:
    """One conversion: the request, and what becomes of each part of it."""

    def __init__(
        self,
        look: ScriptLook,
        source: ScriptText,
        cluster: "Cluster | None",
        language: ScriptLanguage,
        origins: Sequence["Cluster"],
    ) -> None:
        self.look, self.source, self.cluster, self.language, self.origins = look, source, cluster, language, origins
        self.same = look.language.name == language.name
        self.reasons: dict[str, str] = {}
        """Field → why the new script lacks it."""
        self.losses: dict[int, str] = {}
        """Line of the header → why it is not translated."""
        self.changes: list[ConversionChange] = []
        self.dialect = _dialect(cluster)
        self.shift = 0

    def result(self) -> Converted:
        look, language = self.look, self.language
        parts = look.parts if self.same else look.parts[:1]
        for setting in (setting for part in look.parts[len(parts) :] for setting in part):
            self.losses[setting.line] = _("{scheduler} has no heterogeneous jobs", scheduler=language.title)
        options: list[str] = []
        request = ScriptRequest()
        for part in parts:
            own = look.language.read(part)
            completed = self._completed(own)
            request = self._fitting(completed)
            written = self._written(request, part)
            back = self._read_back(written)
            self._compare(request, back)
            self._lose(part, own, request)
            options += [f"{language.prefix} hetjob"] if options else []
            options += [f"{language.prefix} {option}" for option in written]
        self._lose_words(len(parts) > 1)
        differing = self._differing(request, back)
        body = translated(self.source.lines, look.language, language, request, differing, self.shift)
        self.changes += [
            ConversionChange(
                "variable", name, other, _("{scheduler}'s name of the same value", scheduler=language.title)
            )
            for name, other in body.changed
        ]
        folder = self._folder(body.lines)
        losses = [UntranslatedLine(number, look.line(number).strip(), why) for number, why in self.losses.items()]
        header = {directive.line for directive in look.directives}
        losses += [UntranslatedLine(number, name, why) for number, name, why in body.remaining if number not in header]
        script = ScriptText(self.source.name, tuple(self._assembled(options, body.lines, folder)))
        own_queue = look.request.queue
        chosen = request.queue if request.queue != own_queue else None
        return Converted(look.language.name, language.name, script, tuple(sorted(losses)), tuple(self.changes), chosen)

    # ---- the request

    def _completed(self, request: ScriptRequest) -> ScriptRequest:
        """Return the request with what the source's scheduler adds by default, and in the form of the other one."""
        look, language = self.look, self.language
        if request.merge is None and not self.same:
            request = replace(request, merge=look.language.merges and not request.error)
        if request.one_node and request.nodes is None:
            request = replace(request, nodes=1)
        request = self._with_its_node(request)
        if not language.of_processes:
            request = self._per_node(request)
        if language.of_processes and request.gpu_type and self.cluster is not None:
            self.reasons["gpu_type"] = _("the types of GPUs of {cluster} are not known", cluster=self.cluster.name)
        self.shift = shift = shift_of_tasks(self.source.lines, look.language, language, request)
        if shift and request.array:
            first, last, rest = re.fullmatch(r"(\d+)-(\d+)(.*)", request.array).groups()  # type: ignore[union-attr]
            array = f"{int(first) + shift}-{int(last) + shift}{rest}"
            self._change("array", request.array, array,
                         _("{scheduler} counts tasks from {first}", scheduler=language.title, first=shift))  # fmt: skip
            request = replace(request, array=array)
        return request

    def _per_node(self, request: ScriptRequest) -> ScriptRequest:
        """Return a request for GPUs and memory of each node, in place of each process and core."""
        ranks = request.per_node() or (request.processes if request.nodes is None else None)
        if request.gpus_per_process and ranks and request.gpus in (None, request.gpus_per_process * ranks):
            gpus = request.gpus_per_process * ranks
            why = _("{scheduler} counts the GPUs of a node", scheduler=self.language.title)
            before = _("{amount} per process", amount=request.gpus_per_process)
            self._change("gpus_per_process", before, _("{amount} per node", amount=gpus), why)
            request = replace(request, gpus=gpus, gpus_per_process=None)
        size = re.fullmatch(r"(\d+)(.*)", request.memory_per_core or "")
        if size and request.memory is None and ranks:
            memory = f"{int(size[1]) * ranks * (request.threads or 1)}{size[2]}"
            why = _("{scheduler} counts the memory of a node", scheduler=self.language.title)
            before = _("{amount} per core", amount=request.memory_per_core)
            self._change("memory_per_core", before, _("{amount} per node", amount=memory), why)
            request = replace(request, memory=memory, memory_per_core=None)
        return request

    def _with_its_node(self, request: ScriptRequest) -> ScriptRequest:
        """Return the request of a header, with the node's resources that its queue allocates by default."""
        from hackathon.schedulers.registry import known_dialect

        look, cluster = self.look, self.cluster
        if cluster is not None and cluster.queues and known_dialect(cluster).whole_nodes:
            return request  # the other scheduler allocates them by default, too
        named = [
            origin
            for origin in self.origins
            if origin.scheduler == look.language.name and request.queue in origin.queues
        ]
        giving = [
            origin
            for origin in named
            if known_dialect(origin).gives_nodes(request.queue, request.nodes or 1, 0)
            and origin.queues[str(request.queue)].processes_per_node is None
        ]
        nodes = {(origin.node.gpus, origin.node.cores) for origin in giving}
        if request.queue is None or not nodes:
            return request
        if len(nodes) > 1:
            names = ", ".join(origin.name for origin in giving)
            why = _("{clusters} give different nodes in it; name one with --from", clusters=names)
            self._change("queue", request.queue, None, why)
            return request
        (gpus, cores), node_cores = nodes.pop(), cluster.node.cores if cluster is not None else "auto"
        own = request
        if request.gpus is None and isinstance(gpus, int) and gpus:
            request = replace(request, gpus=gpus)
        if request.cores is None and request.threads is None and isinstance(cores, int):
            request = replace(request, cores=min(cores, node_cores) if isinstance(node_cores, int) else cores)
        if request.memory is None and self.language.of_processes:
            request = replace(request, memory="0")
        request = replace(request, exclusive=True if request.exclusive is None else request.exclusive)
        why = _("queue {queue} of {cluster} gives whole nodes", queue=request.queue, cluster=giving[0].name)
        for name in ("gpus", "cores", "memory", "exclusive"):
            if getattr(own, name) != getattr(request, name):
                self._change(name, getattr(own, name), getattr(request, name), why)
        return request

    def _fitting(self, request: ScriptRequest) -> ScriptRequest:
        """Return a request with a queue and GPUs per node that exist on the other machine."""
        cluster, queue = self.cluster, request.queue
        if cluster is not None and cluster.queues and queue not in cluster.queues:
            queue = self._default_queue(cluster)
            names = ", ".join(cluster.queues)
            why = _("the queues of {cluster} are {queues}", cluster=cluster.name, queues=names)
            self.reasons["queue"] = why
            if request.queue or (queue and cluster.queues[queue].partition_named != "") or not self._own_qos():
                self._change("queue", request.queue, queue, why)
        elif queue and "," in queue and not self.language.several_queues:
            self.reasons["queue"] = _("{scheduler} takes one queue", scheduler=self.language.title)
            queue = None
        gpus, node_gpus = request.gpus, cluster.node.gpus if cluster is not None else None
        if cluster is not None and gpus and isinstance(node_gpus, int) and 0 < node_gpus < gpus:
            # they need more nodes, in a number that the header omits or contradicts
            self.reasons["gpus"] = _("a node of {cluster} has {gpus} GPUs", cluster=cluster.name, gpus=node_gpus)
            gpus = None
        return replace(request, queue=queue, gpus=gpus)

    def _own_qos(self) -> str | None:
        """Return the QOS of the script, if the new header keeps it."""
        setting = self.look.setting("--qos") if self.same else None
        return setting.value if setting is not None else None

    def _default_queue(self, cluster: "Cluster") -> str | None:
        """Return the queue of the script's own QOS, else the default queue unless it means another QOS alone."""
        qos = self._own_qos()
        default = cluster.queue or (next(iter(cluster.queues)) if len(cluster.queues) == 1 else None)
        if qos is None:
            return default
        same = [name for name, queue in cluster.queues.items() if queue.qos == qos]
        partition_only = default if default and cluster.queues[default].partition_named != "" else None
        return same[0] if same else partition_only

    # ---- the new header

    def _written(self, request: ScriptRequest, part: list[Setting]) -> list[str]:
        """Return the new options; of the same scheduler also those that no field contains."""
        rest, empty = self._passed(part), ScriptRequest()
        for setting in rest:
            for name in _names_of(self.look.language, setting, [setting]):
                request = replace(request, **{name: getattr(empty, name)})
        queue = self._queue_of(request)
        named = request if queue is None or queue.partition_named is None else replace(
            request, queue=queue.partition_named or None
        )  # fmt: skip
        options, unsaid = self.language.write(named, self.dialect)
        for name in unsaid:
            self._unsaid(name)
        again = [_option(setting, self.language) for setting in rest]
        options += self._of_profile(queue, {setting.key.partition(" ")[0] for setting in rest})
        single = {option.split()[0] for option in again} - self.language.lists
        return [option for option in options if option.split()[0] not in single] + again

    def _of_profile(self, queue: "Queue | None", own: Collection[str]) -> list[str]:
        """Return the QOS of the queue and the profile's default constraint, unless the script has `own` ones."""
        if self.cluster is None:
            return []
        values = {"qos": queue.qos if queue is not None else None, "constraint": self.cluster.constraint}
        options = []
        for name, value in values.items():
            if value and f"--{name}" not in own:
                self._change(name, None, value, _("the profile of {cluster} has it", cluster=self.cluster.name))
                options.append(f"--{name}={quoted(value)}")
        return options

    def _queue_of(self, request: ScriptRequest) -> "Queue | None":
        """Return the queue of the cluster's profile, which may stand for a partition, a QOS, or both."""
        return self.cluster.queues.get(request.queue or "") if self.cluster is not None else None

    def _passed(self, part: list[Setting]) -> list[Setting]:
        """Return the settings without a field that the same scheduler reads again."""
        if not self.same:
            return []
        taken, options = self.look.language.read(part).taken, self.language.options
        names = {name for name, __ in options.values()} | self.language.lists
        counting = {setting.key for setting in taken}
        return [
            setting
            for setting in part
            if setting not in taken and setting.key not in counting and setting.key.partition(" ")[0] in names
        ]

    def _read_back(self, options: Iterable[str]) -> ScriptRequest:
        """Return the request of the new header, as the other scheduler reads it."""
        language = self.language
        lines = ("#!/bin/bash", *(f"{language.prefix} {option}" for option in options))
        return look_at(ScriptText("", lines), language, [language], self.cluster).request

    def _compare(self, request: ScriptRequest, back: ScriptRequest) -> None:
        """Find what the new header lacks, and what it says in other words."""
        for name in _COMPARED:
            before, after = getattr(request, name), getattr(back, name)
            if before is None or before == after or self._is_implied(name, request, back):
                continue
            if name == "name" and after:
                why = _("{scheduler} takes no other characters in a name", scheduler=self.language.title)
                self._change(name, before, after, why)
            elif name == "merge":
                why = _("{scheduler} writes both into one file", scheduler=self.language.title)
                self._change(name, before, not before, why)
            elif name == "gpus" and (back.gpus or self.dialect.get("node_gpus", 0)) > before:
                why = _("a job gets all GPUs of its nodes")
                self._change(name, before, back.gpus or self.dialect["node_gpus"], why)
            else:
                self._unsaid(name)

    def _is_implied(self, name: str, request: ScriptRequest, back: ScriptRequest) -> bool:
        """Return whether the new job has a value without an option, or in another form."""
        before = getattr(request, name)
        ranks = request.per_node() or 1
        is_type = self.dialect.get("queue") == "resource"
        match name:
            case "queue":
                queue = self._queue_of(request)
                return is_type or (queue is not None and queue.partition_named is not None)
            case "processes" | "processes_per_node" | "threads" | "cores" if is_type:
                return True  # a type has its cores, and the commands start the processes
            case "nodes" | "processes" | "processes_per_node":
                return before == 1 or (name != "nodes" and request.total() == back.total() is not None)
            case "threads":
                return bool(before == 1 or (back.cores or 0) >= before * ranks)
            case "cores":
                return bool(before in (back.cores, (back.threads or 1) * ranks) or self._gives_nodes(back))
            case "gpus":
                return before == 0 or (before == self.dialect.get("node_gpus") and not is_type)
            case "memory":
                return back.memory is not None and _bytes(before) == _bytes(back.memory)
            case "merge":
                is_default = back.merge is None and self.language.merges and not back.error
                return bool(before) == bool(back.merge or is_default)
            case "error":
                return bool(request.merge)
            case "inherit":
                return bool(before) == (not self.language.passes_environment) or (not before and not back.inherit)
            case "mail_on":
                return not before and not back.mail_on
            case "exclusive":
                return not before or self._gives_nodes(back)
            case "placement":
                return before in ("scatter", "free")
            case _:
                return False

    def _gives_nodes(self, back: ScriptRequest) -> bool:
        from hackathon.schedulers.registry import known_dialect

        if self.cluster is None or self.language.gives_nodes:
            return self.language.gives_nodes and back.nodes is not None and back.gpus is None
        return bool(self.cluster.queues) and known_dialect(self.cluster).whole_nodes

    def _differing(self, request: ScriptRequest, back: ScriptRequest) -> frozenset[str]:
        """Return the meanings of variables whose value is not that of the old job."""
        differing = set()
        if request.total() is None or (back.total() or back.processes) != request.total():
            differing.add("processes")
        if request.per_node() is None or back.per_node() != request.per_node():
            differing.add("processes of a node")
        return frozenset(differing)

    # ---- losses and changes

    def _unsaid(self, name: str) -> None:
        self.reasons.setdefault(name, _("{scheduler} has no equal option", scheduler=self.language.title))

    def _change(self, name: str, before: object, after: object, why: str) -> None:
        change = ConversionChange(name, _text(name, before), _text(name, after), why)
        if change.before != change.after and change not in self.changes:
            self.changes.append(change)

    def _lose(self, part: list[Setting], own: ScriptRequest, request: ScriptRequest) -> None:
        """Find the lines of the settings that the new header lacks."""
        title = self.language.title
        last = {setting.key: setting for setting in part}
        passed = self._passed(part)
        # what a queue implied, and the new header lacks, is lost with the queue
        implied = [name for name in ("gpus", "cores") if name in self.reasons and getattr(own, name) is None
                   and (getattr(request, name) is not None or name == "gpus")]  # fmt: skip
        self.changes = [change for change in self.changes if change.field not in implied]
        for setting in part:
            own_names = _names_of(self.look.language, setting, part)
            names = [name for name in own_names if name in self.reasons] + (implied if "queue" in own_names else [])
            if setting not in own.taken and setting not in passed:
                later = last[setting.key]
                replaced = later is not setting and later in own.taken
                self.losses[setting.line] = (
                    _("line {line} replaces it", line=later.line)
                    if replaced
                    else _("{scheduler} has no equal option", scheduler=title)
                )
            elif names:
                self.losses.setdefault(setting.line, self.reasons[names[0]])

    def _lose_words(self, is_whole: bool) -> None:
        """Find directives with words that the scheduler itself does not know."""
        for directive in self.look.directives:
            separators = [word for word in directive.loose if re.fullmatch(self.look.language.separators, word.text)]
            loose = [word for word in directive.loose if word not in separators]
            if separators and not is_whole:
                why = _("{scheduler} has no heterogeneous jobs", scheduler=self.language.title)
                self.losses.setdefault(directive.line, why)
            if directive.unknown or loose or directive.lacking:
                why = _("{scheduler} does not know this option", scheduler=self.look.language.title)
                self.losses.setdefault(directive.line, why)

    # ---- the new script

    def _folder(self, lines: Sequence[str]) -> str:
        """Return the command that goes to the folder in which the old job starts; "" where none is needed."""
        source, language, folder = self.look.language, self.language, self.look.request.directory
        starts_at_home, look_is_shell = source.starts_at_home and folder is None, bool(self.look.shell.shell)
        code = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
        if not look_is_shell:
            for setting in self.look.settings if not language.stays_if & {"-cwd"} and language.starts_at_home else ():
                if setting.key in ("--chdir", "-wd", "-cwd"):
                    self.losses.setdefault(setting.line, _("{scheduler} has no equal option", scheduler=language.title))
            return ""
        goes = re.search(rf"\b(?:cd|pushd)\s+\S*\b{language.submit_folder}\b", code) is not None
        if self.same or goes:
            return ""
        if starts_at_home != language.starts_at_home and starts_at_home:
            self._change("directory", "~", ".", _("{scheduler} starts in the folder of the submission",
                         scheduler=language.title))  # fmt: skip
        if starts_at_home or not language.starts_at_home or language.stays_if & {"-cwd"}:
            return ""
        is_absolute = folder not in (None, ".")
        command = f"cd {shlex.quote(str(folder))}" if is_absolute else f'cd "${language.submit_folder}"'
        self._change("directory", folder or ".", command, _("{scheduler} starts in the home folder",
                     scheduler=language.title))  # fmt: skip
        return command

    def _assembled(self, options: list[str], body: Sequence[str], folder: str) -> list[str]:
        look, language = self.look, self.language
        lines: list[str] = []
        header = {directive.line for directive in look.directives}
        # the first scheduler may read directives after commands, but the other may not
        command = first_command(self.source.lines, language)
        start = min(*header, command)
        for number, line in enumerate(look.source.lines, 1):
            if number == start:
                lines += options
            if number == command and folder:
                lines.append(folder)
            if number in self.losses and number in header:
                lines.append(f"# {_('not translated:')} {line.strip()}")
            elif number not in header and line == self.source.lines[number - 1]:  # otherwise it continues a directive
                lines.append(body[number - 1])
        if language.reading.shebang_first and not (lines and lines[0].startswith("#!")):
            lines.insert(0, "#!/bin/bash")
        return lines


_COMPARED = tuple(
    entry.name for entry in fields(ScriptRequest) if entry.name not in ("spread", "one_node", "taken", "directory")
)


def _names_of(language: ScriptLanguage, setting: Setting, part: list[Setting]) -> list[str]:
    """Return the fields that a setting decides, alone or together with others."""
    pairs = [(language.read([setting]), ScriptRequest())]
    if len(part) > 1:
        pairs.append((language.read(part), language.read([other for other in part if other is not setting])))
    return [entry.name for entry in fields(ScriptRequest) if entry.name != "taken"
            and any(getattr(own, entry.name) != getattr(other, entry.name) for own, other in pairs)]  # fmt: skip


def _option(setting: Setting, language: ScriptLanguage) -> str:
    """Return a setting as the option of a header."""
    value = setting.value
    if " " in setting.key:
        name = setting.key.partition(" ")[2]
        value = f"{name}={value}" if value else name
    words = language.options.get(setting.written, ("", 1))[1]
    value = quoted(value) if words <= 1 else value
    joined = "=" if setting.written.startswith("--") and " " not in setting.key else " "
    return f"{setting.written}{joined}{value}" if value else setting.written


def _bytes(size: str) -> int | None:
    """Return the bytes of a size, rounded to KiB; None where it is none."""
    match = re.fullmatch(r"(?i)(\d+)([kmgtp]?)(?:i?b)?", size)
    return -(-int(match[1]) * 1024 ** " kmgtp".index(match[2].lower() or " ") // 1024) if match else None


def _text(name: str, value: object) -> str:
    """Return a value of a request for people; empty for none."""
    if isinstance(value, frozenset):
        return ",".join(sorted(value))
    if name == "walltime" and isinstance(value, int):
        return format_walltime(value)
    return "" if value is None else str(value)


def _dialect(cluster: "Cluster | None") -> Mapping[str, Any]:
    """Return the keys of a profile's dialect about requests for resources, with `node_gpus`, the GPUs per node.

    A profile without GPUs has no such keys.
    """
    from dataclasses import asdict

    from hackathon.schedulers.registry import known_dialect

    if cluster is None:
        return {}
    dialect = asdict(known_dialect(cluster))
    if not isinstance(cluster.node.gpus, int) or not cluster.node.gpus:
        return {name: value for name, value in dialect.items() if name != "gpu_request" or value != "none"}
    return {**dialect, "node_gpus": cluster.node.gpus}


def target_language(name: str, cluster: "Cluster | None") -> ScriptLanguage:
    """Return the language of a cluster's scripts; raise RequestError for a scheduler that reads no header."""
    language = registry.script_language(cluster.scheduler if cluster else name)
    if language is None:
        raise RequestError(
            "lint.no_language",
            "{name} is neither a cluster whose job scripts have a header nor a scheduler: {known}",
            name=printable(name),
            known=", ".join(registry.SCRIPTS),
        )
    return language
