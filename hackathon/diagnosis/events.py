"""Find the first fatal event of a log by its form, and name the kind of an exception, where no rule knows the failure.

An event is a line that a compiler, a logger, the C++ runtime or the kernel writes when something ends; Python's
tracebacks are read in log_tails. A launcher's line about the end of others is not an event. Tables of nvidia-smi show
processes that also hold memory on GPU 0.

The kind of an exception follows from its name, its message, its statement, and the file that raised it. Rules with the
fact `log:exception` and patterns name kinds; the first whose pattern matches counts. Behind them come the rules for
exceptions in a worker of PyTorch's DataLoader (`log:exception-in-loader`), for those that a library raised
(`log:exception-in-library`), for checks of the user's own code (`log:exception-own`), and for all others
(`log:exception` without patterns). What Python itself raises within a library (a key or an attribute that is missing)
says nothing about the program's own lists: there only rules of level `root` count, and patterns that name the
library's file.
"""

import re
from collections.abc import Collection, Sequence

from hackathon.config.rule import EXCEPTION, Rule
from hackathon.diagnosis.check_command import NOT_KNOWN
from hackathon.diagnosis.log_tails import (
    IN_GRAPH,
    End,
    TailLine,
    Traceback,
    at_end,
    frames,
    is_last_word,
    is_own,
    is_progress,
)
from hackathon.diagnosis.needles import expression_of
from hackathon.diagnosis.survived import goes_on
from hackathon.diagnosis.unknown import is_error, is_result
from hackathon.schedulers.failures import DAEMON_LINES

_BUILD = re.compile(
    r"(?:^|[\s:])(?:fatal )?error: |\bnvcc fatal\b|\bCMake Error\b|undefined reference to"
    r"|\bld(?:\.\w+)?: cannot find \S"
    r"|\b(?:ld|ptxas|nvlink)\S*(?: error +)?: .{0,200}(?:multiple definition|recompile with|relocation truncated)"
    r"|\b(?:ptxas|nvlink) +(?:error|fatal) +: |\b(?:ld|gold|lld)\S*: (?:fatal|final link failed|unrecognized option)"
    r"|Makefile:\d+: \*\*\*|\bg?make(?:\[\d+\])?: (?:\*\*\*|\S+: (?:No such file|Command not found))"
)
_NATIVE = re.compile(
    r"terminate called|\bCheck failed: "
    r"|what\(\):  |\bBUG: |\bpanicked at\b|Fatal Python error|^\s*FATAL\b|^\[?FATAL\]?[ :]"
    r"|\bNCCL WARN\b.{0,80}(?:(?<!Proxy )\b[Cc]all to .{1,80} failed\b|\b(?:Cuda|CUDA) failure\b|\bError ?: )"
    r"|\brocBLAS error: |\bQueue 0x\w+ aborting with error\b|\bdouble free\b"
)
# `cp: cannot stat 'x': No such file or directory`: a command, and the text of an error number (errno) of the system.
_COMMAND = re.compile(
    r"^(?:[\w.+/-]*/)?(?!(?:rm|rmdir|mkdir|ls|cat|[ef]?grep|find|head|tail|sysctl|which|stat|chmod|chown|kill|id|df|du|test"
    r"|info|debug|note|hint|warning):)[a-z][\w.+-]{0,30}:(?: line \d+:)? .*\w.*: (?:No such file or directory"
    r"|File exists|(?:Is|Not) a directory|Permission denied|Operation not permitted|No space left on device"
    r"|Disk quota exceeded|Read-only file system|Stale file handle|Input/output error|Device or resource busy"
    r"|Text file busy|Exec format error|Argument list too long|Too many (?:open files|links)|Cannot allocate memory"
    r"|Invalid argument|Connection (?:refused|timed out|reset by peer)|No route to host|Network is unreachable)\.?$"
)
NEXT_LINES, LAST_WORDS = 2, 40
"""Lines that may follow a command that failed; lines at the end of a log that may say that a training is finished."""
_LAUNCHER = re.compile(
    r"torch[/.]distributed[/.](?:elastic|run|launcher)|ChildFailedError|closing signal|^srun: "
    rf"|{DAEMON_LINES}|exitcode\s*:|^pdsh@|ssh exited with exit code|subprocess-exited-with-error|fatal: not a git repo"
    r"|Traceback \(most recent"
)


def is_event(text: str) -> bool:
    """Return whether a line tells that something ended, and no launcher wrote it."""
    if _PASSED_ON.search(text):
        return False
    if _LAUNCHER.search(text) or at_end(text):
        return bool(_NATIVE.search(text)) and not _LAUNCHER.search(text)
    return (_BUILD.search(text) is not None and not is_result(text)) or bool(_NATIVE.search(text)) or is_error(text)


def failed_command(ends: Sequence[End]) -> tuple[int, TailLine] | None:
    """Return (index of its file, line) of a command that could not use a file and ended its log.

    A script goes on after most of them: at most NEXT_LINES other lines may follow, and none that says that the training
    is finished.
    """
    for number, end in enumerate(ends):
        lines = [line for line in end.lines if line.read.text.strip()]
        if any(is_last_word(line.read.text) for line in lines[-LAST_WORDS:]):
            continue
        for line in lines[-NEXT_LINES - 1 :]:
            text = line.read.text
            if _COMMAND.search(text) and not (goes_on(text) or at_end(text) or _LAUNCHER.search(text)):
                return number, line
    return None


def events_of(
    ends: Sequence[End],
    before: Collection[tuple[int, int]],
    of_one_rank: Collection[int] = (),
    harmless: Collection[re.Pattern[str]] = (),
) -> list[tuple[int, TailLine]]:
    """Return (index of its file, line) of all events: file by file, first the one whose first event is the earliest.

    `before`: (file, offset) of what follows from another failure: only an event before the first of them counts.
    `of_one_rank`: the files that count without such a line, too, because launchers report elsewhere.
    `harmless`: patterns of lines that do not count as events.
    """
    bounds = {file: min(offset for number, offset in before if number == file) for file, _ in before}
    events: list[list[tuple[int, TailLine]]] = []
    for number, end in enumerate(ends):
        if before and number not in bounds and number not in of_one_rank:
            continue
        ignored = False
        of_file = []
        for line in end.lines:
            text = line.read.text
            if line.offset >= bounds.get(number, end.size + 1):
                break
            # Python prints errors of destructors and goes on
            ignored = (
                text.startswith(("Exception ignored in", "Traceback ", " "))
                if ignored
                else text.startswith("Exception ignored in")
            )
            if not ignored and is_event(text) and not any(pattern.search(text) for pattern in harmless):
                of_file.append((number, line))
        if of_file:
            events.append(of_file)
    times = [of_file[0][1].read.time for of_file in events]
    if None not in times:
        events.sort(key=lambda of_file: of_file[0][1].read.time or 0.0)
    return [event for of_file in events for event in of_file]


# A row of nvidia-smi's processes since driver 450: `|    0   N/A  N/A     62251      C   /usr/bin/python3    725MiB |`
_GPU_ROW = re.compile(r"\|\s+(?P<gpu>\d{1,3})(?:\s+(?:N/A|\d+)){2}\s+(?P<pid>\d{1,9})\s+(?:C|C\+G|M\+C)\s")


def on_gpu_zero(ends: Sequence[End]) -> tuple[int, TailLine, int] | None:
    """Return (index of the file, first row, processes) where several processes of other GPUs hold memory on GPU 0."""
    for number, end in enumerate(ends):
        gpus: dict[str, set[str]] = {}
        rows: dict[str, TailLine] = {}
        for line in end.lines:
            if match := _GPU_ROW.search(line.read.text):
                gpus.setdefault(match["pid"], set()).add(match["gpu"])
                if match["gpu"] == "0":
                    rows.setdefault(match["pid"], line)
        extra = [pid for pid, used in gpus.items() if "0" in used and len(used) > 1]
        if len(extra) > 1:
            return number, rows[extra[0]], len(extra)
    return None


# Lightning 1.5 to 2.6, fabric/utilities/distributed.py: each process before it joins, rank 0 after all have
_MEMBER = re.compile(r"GLOBAL_RANK: (?P<rank>\d{1,7}), MEMBER: \d{1,7}/(?P<total>\d{1,7})\b")
_ALL_MET = "All distributed processes registered"


def members(ends: Sequence[End]) -> tuple[int, TailLine, int, int] | None:
    """Return (index of the file, rank 0's line, processes shown, all) where Lightning's rank 0 waits for others."""
    ranks: set[str] = set()
    first: tuple[int, TailLine, int] | None = None
    for number, end in enumerate(ends):
        for line in end.lines:
            if _ALL_MET in line.read.text or (first is not None and is_progress(line.read.text)):
                return None
            if match := _MEMBER.search(line.read.text):
                ranks.add(match["rank"])
                if match["rank"] == "0":
                    first = number, line, int(match["total"])
    if first is None or len(ranks) >= first[2]:
        return None
    return first[0], first[1], len(ranks), first[2]


VALUES = ("exception", "name", "place", "package", "by", "statement", "module", "what")
"""Placeholders in the texts of these rules."""
LETTERS = 300
"""Characters of an exception that are shown."""
_PACKAGE = re.compile(r"(?:site|dist)-packages/(?P<name>[A-Za-z]\w*)")
# Libraries that are often run from a clone of their repository.
_CLONED = re.compile(
    r"/(?P<file>(?:megatron/(?:core|training|legacy|bridge)|deepspeed|accelerate|transformers|trl|peft|llamafactory|swift"
    r"|axolotl|verl|nemo|torchtitan|torchtune|fairseq|mmengine)/[\w/.-]+\.py)$"
)
_BRACKETS = re.compile(r"\{[^{}\[\]()]+\}|\[[^{}\[\]()]+\]|\([^{}\[\]()]{12,}\)")
_DEEPEST = 3
# The frame of PyTorch 1.1 to 2.13 below that of the data set or of collate_fn, and its statement.
_IN_LOADER = re.compile(
    r"[/\\]torch[/\\]utils[/\\]data[/\\]_utils[/\\]worker\.py\", line \d+, in _worker_loop"
    r"|^\s+data = fetcher\.fetch\(index\)"
)
# A message that states what is required or refused is itself the cause; one that sends the reader elsewhere is not.
_REQUIREMENT = re.compile(
    r"(?i)\b(?:must|should|ha(?:s|ve) to|needs? to|requires?|required|only (?:support|work|available|valid|allow)\w*"
    r"|not (?:yet )?(?:supported|allowed|permitted|valid|compatible|installed|implemented|divisible)"
    r"|(?:does|do)(?:n.t| not) support|can(?:not|.t| not) be (?:used|set|combined|passed|specified|called)|incompatible"
    r"|mutually exclusive|at the same time|make sure|but got|instead|valid (?:values|options|choices)"
    r"|do not (?:set|pass|use|specify)|no module named"
    r"|please (?:set|use|pass|specify|provide|install|remove|add|select|choose|upgrade|downgrade|call))\b"
)
_ELSEWHERE = re.compile(
    r"(?i)internal assert|should not happen|never happen|report (?:this|a bug)|(?:file|open) an issue"
    r"|see (?:above|the (?:log|error))|for more (?:details|information)|look (?:up|above)"
    r"|\b(?:NCCL|CUDA|HIP|cuDNN|cuBLAS|Gloo|MPI)\b"
)
_OWN_CHECK = re.compile(r"(?:raise|assert)\b")
_BY_PYTHON = re.compile(
    r"(?:KeyError|IndexError|AttributeError|TypeError|NameError|UnboundLocalError|ZeroDivisionError|StopIteration)\b"
    r"|ValueError: .{0,40}values to unpack"
)
_FILE = "\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}"
"""What is before the library's file in the text that patterns are compared with."""
# Messages that pass on another library's error.
_PASSED_ON = re.compile(r"\b(?:NCCL|CUDA|HIP|cuDNN|cuBLAS|Gloo|MPI) [Ee]rror\b|ncclUnhandled|\bnccl\w*Error\b")
# Packages that only carry an exception from another process.
_CARRIERS = frozenset({"ray", "hackathon"})


def exception_kind(rules: Sequence[Rule], traceback: Traceback) -> tuple[Rule, dict[str, str]] | None:
    """Return the rule that names the kind of an exception, and its values; None without rules for exceptions."""
    text = _text(traceback)
    package = _package(traceback.path)
    values = {
        "exception": text,
        "name": text.partition(":")[0].strip(),
        "place": traceback.place or NOT_KNOWN,
        "package": package,
        "by": package or "the program",
        "statement": traceback.statement,
        "module": _module(traceback),
        "what": f"{traceback.place}: {text}" if traceback.place else text,
    }
    if any(_IN_LOADER.search(line.read.text) for line in traceback.lines):
        return kind_of_words(rules, values, "log:exception-in-loader")
    own = is_own(traceback.path) and bool(_OWN_CHECK.match(traceback.statement))
    return kind_of_words(rules, values, "log:exception-own" if own else "")


def kind_of_words(rules: Sequence[Rule], values: dict[str, str], place: str = "") -> tuple[Rule, dict[str, str]] | None:
    """Return the rule that names the kind of an exception, and its values with those of the pattern.

    `values`: exception, statement, package, module. `place`: fact of who raised it; empty: the package, if any.
    """
    if _PASSED_ON.search(values["exception"]):
        return None
    # text in brackets is a value, a name or a place
    message = values["exception"]
    for _ in range(_DEEPEST):
        message = _BRACKETS.sub("()", message)
    text = without_modules(f"{message} « {values['statement']} {_FILE} {values.get('module', '')}")
    inside = bool(values["package"] and _BY_PYTHON.match(text) and not _OWN_CHECK.match(values["statement"]))
    for rule in rules:
        if rule.fact != EXCEPTION or any(expression_of(pattern).search(text) for pattern in rule.unless):
            continue
        for pattern in rule.patterns:
            expression = expression_of(pattern)
            if inside and rule.level != "root" and _FILE not in expression.pattern:
                continue
            if match := expression.match(text):
                return rule, values | {key: value for key, value in match.groupdict().items() if value}
    fact = place or ("log:exception-in-library" if values["package"] else EXCEPTION)
    plain = {rule.fact: rule for rule in reversed(rules) if not rule.patterns}
    general = plain.get(fact) or plain.get(EXCEPTION)
    return (general, values) if general is not None else None


def states_requirement(exception: str, statement: str = "", module: str = "") -> bool:
    """Return whether an exception's message says what is required or refused.

    `statement`, `module`: what raised it. A library that raises an exception on purpose describes what it refuses.
    """
    message = exception.partition(":")[2]
    if _ELSEWHERE.search(message):
        return False
    on_purpose = bool(module) and bool(_OWN_CHECK.match(statement)) and len(message.split()) > 2
    return on_purpose or bool(_REQUIREMENT.search(message))


def without_modules(text: str) -> str:
    """Return an exception's text without the modules before its name."""
    exception, mark, behind = text.partition(" «")
    name, colon, message = exception.partition(":")
    return f"{name.rpartition('.')[2]}{colon}{message}{mark}{behind}"


def _text(traceback: Traceback) -> str:
    """Return an exception as one line; the one around which another was put, and for an assertion its condition."""
    if traceback.wrapped:
        return traceback.wrapped[:LETTERS]
    name, _, message = traceback.exception.partition(":")
    more = [line.read.text.strip() for line in traceback.lines if line.offset > traceback.at]
    if IN_GRAPH.search(message):
        message = _graph_error([text for text in more if text]) or message
        return f"{name}: {message.strip()}"[:LETTERS]
    if message.strip():
        return traceback.exception[:LETTERS]
    message = " ".join(text for text in more if text) or (
        traceback.statement if traceback.statement.startswith("assert ") else ""
    )
    return f"{name}: {message}"[:LETTERS] if message else traceback.exception


def _graph_error(texts: Sequence[str]) -> str:
    """Return the message in TensorFlow's report about a graph: the line before the first that names its node."""
    node = next((number for number, text in enumerate(texts) if text.startswith("[[")), 0)
    return texts[node - 1].removeprefix("(0) ") if node else ""


def _module(traceback: Traceback) -> str:
    """Return the library's file that raised an exception, `torch/utils/checkpoint.py`; "" for the user's own code.

    With ` import` where it failed while it was loaded, and not on purpose.
    """
    file = _library_file(traceback.path)
    loaded = not _OWN_CHECK.match(traceback.statement) and any(
        path == traceback.path and where == "<module>" for path, where in frames(traceback.lines)
    )
    return f"{file} import" if file and loaded else file


def _library_file(path: str) -> str:
    if _PACKAGE.search(path):
        return re.split(r"(?:site|dist)-packages/", path)[-1]
    cloned = _CLONED.search(path)
    return cloned["file"] if cloned else ""


def _package(path: str) -> str:
    """Return the package that a file belongs to; "" for Python's own and those that carry others' exceptions."""
    match = _PACKAGE.search(path)
    return match["name"] if match and match["name"] not in _CARRIERS else ""
