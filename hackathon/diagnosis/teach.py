"""Make a rule from a line that somebody recognised: generalise its varying parts, then test the rule."""

import builtins
import contextlib
import fcntl
import json
import os
import pwd
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hackathon.config.literals import PatternError, analysed
from hackathon.config.problems import ConfigError
from hackathon.config.rule import Example, Level, Part, Pattern, Rule
from hackathon.config.rule_files import load_rule_file
from hackathon.diagnosis.rules import check_files
from hackathon.diagnosis.scan import LogFile, Scanner
from hackathon.diagnosis.scrub import REMOVED, own_names, scrub
from hackathon.logs.lines import Splitter
from hackathon.logs.prefixes import SAMPLE, Prefixed, is_labelled, read_prefix
from hackathon.schedulers.foreign import TOPIC
from hackathon.text.errors import RequestError
from hackathon.text.files import write_whole
from hackathon.text.messages import _

FILE = "event.yaml"
"""File in `templates/rules` for rules that were made from lines."""
LETTERS = 10
"""Characters that a pattern needs outside of its varying parts: fewer would match many lines."""
LONGEST = 240
"""Characters of a line that a pattern uses: messages begin with their stable part."""
OFTEN, SHARE = 20, 0.2
"""A line above this count and this share of its log is normal output of the program."""
WAIT = 20.0
"""Seconds to wait while another user adds a rule to the same file."""
_HEADER = (
    "# Rules made by `hackathon rules add`. Change them as you like; `hackathon rules check` says whether they hold.\n"
)
_VARIES = (
    r"(?P<path>(?:~|\.{1,2})?(?:/[\w.+@%=~-]+){2,}/?|~/[\w./+@%=-]+)|(?P<hex>0x[0-9a-fA-F]+|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b)|"
    r"(?P<address>\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b)|(?P<number>[+-]?\d+(?:[.,:]\d+)*(?:[eE][+-]?\d+)?)"
)
_BEFORE_HOSTS = frozenset({"on", "from", "at", "to", "host", "hosts", "node", "nodes", "between", "and", "with", "via"})
_HOST = re.compile(r"[A-Za-z][\w.-]*\d[\w.-]*")
# These words accompany every failure and identify none.
_WRAPPER = re.compile(
    r'Traceback \(most recent call last\)|^\s*File "[^"]*", line \d+|ChildFailedError|'
    r"^\s*(?:Killed|Aborted|Terminated)\s*$|exited (?:on|with)|non-zero (?:status|exit)|\bexit(?:ed)? (?:code|status)\b"
)
# Python's own exceptions are raised by every failure of a kind.
_EXCEPTIONS = re.compile(
    rf"\b(?:{'|'.join(name for name in dir(builtins) if name.endswith(('Error', 'Exception', 'Exit', 'Interrupt')))})\b"
)
_PARTS: tuple[tuple[Part, str], ...] = (
    ("nccl", "nccl"), ("horovod", "horovod"), ("chainermn", "chainermn"), ("gloo", "gloo"),
    ("mpi", r"\bmpi|_mpi_|\bucx\b|\bpmix|\bprte|\borte"), ("tensorflow", "tensorflow|keras"),
    ("cuda", "cuda|cublas|cudnn"),
    ("gpu", r"\bgpu|out of memory"), ("rendezvous", "rendezvous|tcpstore|master_addr"),
    ("scheduler", TOPIC),
    ("hardware", r"xid|ecc error|nvlink|machine check"),
    ("filesystem", r"no space left|disk quota|stale file|input/output error|read-only file|permission denied"),
    ("env", r"no module named|importerror|cannot open shared object|command not found|glibc"),
    ("data", r"dataset|dataloader|decode|corrupt|\.(?:tar|h5|zarr|parquet|tfrecord)\b"),
    ("numerics", r"\bnan\b|\binf\b|overflow|diverge"),
)  # fmt: skip


@dataclass(frozen=True)
class TaughtLine:
    """A line of a log, with its context."""

    path: Path
    number: int
    read: Prefixed
    raw: str
    lines: int
    """Number of lines of the log."""


@dataclass(frozen=True)
class Taught:
    """A new rule."""

    rule: Rule
    path: Path
    """The file that contains it."""
    text: str
    """The text that was added."""


def place_of(path: Path, number: int) -> TaughtLine:
    """Return a line of a file, from 1. Raises RequestError when the line does not exist or is empty."""
    text, count = "", 0
    head: list[str] = []
    for line in _lines(path):
        count += 1
        if len(head) < SAMPLE:
            head.append(line)
        if count == number:
            text = line
    if not text.strip():
        raise RequestError(
            "rules.add_no_line",
            "line {line} of {path} is empty or does not exist ({count} lines)",
            path=path,
            line=number,
            count=count,
        )
    return TaughtLine(path, number, read_prefix(text, labelled=is_labelled(head)), text, count)


def place_of_text(path: Path, text: str) -> TaughtLine:
    """Return the last line of a file that contains a text. Raises RequestError when there is none."""
    number = 0
    for count, line in enumerate(_lines(path), 1):
        if text in line:
            number = count
    return place_of(path, number)


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file. Raises RequestError when it cannot be read."""
    splitter = Splitter(states=False)
    try:
        with path.open("rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                yield from splitter.feed(block)
    except OSError as error:
        raise RequestError(
            "rules.add_unreadable", "{path} cannot be read: {what}", path=path, what=error.strerror or error
        ) from error
    if remaining := splitter.rest():
        yield remaining


def pattern_of(text: str, names: Sequence[str] = ()) -> str:
    """Return a regular expression for a line. Numbers, paths, hexadecimal words and `names` match any others.

    `names`: hosts and users. Secrets are left out as well. Raises RequestError when too little of the line remains.
    """
    head = _head(" ".join(text.split()))
    clean = set(scrub(head).split())
    varying = "|".join(
        [*(rf"(?P<name{n}>\b{re.escape(name)}\b)" for n, name in enumerate(names) if len(name) > 1), _VARIES]
    )
    expression = re.compile(varying)
    words = [word if word in clean else None for word in head.split(" ")]  # a scrubbed word is replaced
    pieces = [
        r"\S+" if word is None else _generalised(word, expression, is_host=before in _BEFORE_HOSTS)
        for before, word in zip([None, *words], words, strict=False)
    ]
    while pieces and pieces[-1] == r"\S+":  # a varying end carries no information
        pieces.pop()
    while pieces and pieces[0] == r"\S+":
        pieces.pop(0)
    pattern = r"\s+".join(pieces)
    letters = sum(letter.isalpha() for letter in _EXCEPTIONS.sub("", re.sub(r"\\[sSdw]|\[[^\]]*\]", "", pattern)))
    if letters < LETTERS or _WRAPPER.search(text):
        raise RequestError(
            "rules.add_too_general",
            "a rule for this line would match far too much: {text}",
            hint="choose a line with words specific to this failure, for example the last line of a traceback",
            text=text.strip()[:120],
        )
    try:
        analysed("", pattern, False)
    except PatternError as error:
        raise RequestError(
            "rules.add_too_general",
            "a rule for this line would match far too much: {text}",
            hint="choose a line with words specific to this failure, for example the last line of a traceback",
            text=text.strip()[:120],
        ) from error
    return pattern


def make_rule(
    line: TaughtLine,
    known_rules: Sequence[Rule],
    *,
    part: Part | None = None,
    level: Level = "root",
    title: str = "",
    advice: str = "",
    hosts: Sequence[str] = (),
) -> Rule:
    """Return a rule for a line. Raises RequestError when the line is too general or a rule matches it already."""
    text = line.read.text
    pattern = pattern_of(text, [*hosts, *([line.read.host] if line.read.host else []), *own_names()])
    for rule in known_rules:
        if any(candidate.regex == pattern for candidate in rule.patterns):
            raise RequestError(
                "rules.add_known",
                "rule {id} already has this pattern",
                hint="see `hackathon rules show {id!q}`; a rule with the same id in the event's file replaces it",
                id=rule.id,
            )
    sample = scrub(" ".join(text.split()) if len(text) > LONGEST else text.strip())
    for host in hosts:
        sample = re.sub(rf"\b{re.escape(host)}\b", "host", sample)
    source = scrub(f"{Path(*line.path.parts[-2:])}:{line.number}, {time.strftime('%Y-%m-%d')}")
    return Rule(
        _free(_name(sample), {rule.id for rule in known_rules}),
        part or _part_of(text),
        level,
        _plain(title or sample)[:160],
        [Pattern(regex=pattern)],
        advice=_plain(advice),
        sample=Example(sample, source),
    )


def try_rule(rule: Rule, line: TaughtLine, healthy: Sequence[Path] = (), known_rules: Sequence[Rule] = ()) -> int:
    """Return how often the rule matches in its own log.

    Raises RequestError when it misses its line, takes too long on a similar one, matches a healthy log or a harmless
    message of `known_rules`, or matches its own log too often.
    """
    scanner = Scanner([rule])
    # nearly the line, with numbers and paths of any length: what makes a search try everything
    similar = re.sub(r"\d+", lambda number: number[0] * 200, line.read.text.replace("/", "/a" * 200))
    scanner.scan_text("\n".join([similar, similar.rpartition(" ")[0], similar[:-1]]) + "\n")
    if scanner.limits.ended:
        raise RequestError(
            "rules.add_slow",
            "the search for this line takes too long: {pattern}",
            hint="write the rule by hand, and test it with `hackathon rules check FILE`",
            pattern=rule.patterns[0].regex,
        )
    if not scanner.scan_text(line.raw + "\n"):
        raise RequestError(
            "rules.add_misses",
            "the pattern does not match its own line: {pattern}",
            hint="write the rule by hand, and test it with `hackathon rules check FILE`",
            pattern=rule.patterns[0].regex,
        )
    for path in healthy:
        if not path.is_file():
            raise RequestError(
                "rules.add_unreadable", "{path} cannot be read: {what}", path=path, what=_("no such file")
            )
        for hit in scanner.scan([LogFile(path, str(path))]):
            raise RequestError(
                "rules.add_healthy",
                "it matches the healthy log {path}:{line}: {text}",
                hint="choose another line of the failure",
                path=path,
                line=hit.evidence.line,
                text=hit.evidence.text[:120],
            )
    for other in known_rules:
        examples = [example for example in (other.sample, *other.variants) if example is not None]
        if other.level == "benign" and any(scanner.scan_text(example.text) for example in examples):
            raise RequestError(
                "rules.add_harmless",
                "it matches a harmless message, that of rule {id}",
                hint="choose another line of the failure",
                id=other.id,
            )
    count = sum(hit.count for hit in scanner.scan([LogFile(line.path, str(line.path))]))
    if count > OFTEN and count > SHARE * line.lines:
        raise RequestError(
            "rules.add_often",
            "it matches {count} of {lines} lines of its own log, so it is regular output",
            hint="choose another line of the failure",
            count=count,
            lines=line.lines,
        )
    return count


def write_rule(folder: Path, rule: Rule, known_rules: Sequence[Rule]) -> Taught:
    """Add a rule to `event.yaml` in a folder; safe with concurrent writers.

    If the file belongs to another user and cannot be replaced (a folder with the sticky bit), the rule goes to
    `event-<user>.yaml`. Raises RequestError when neither is writable, when the existing file is broken, or when
    somebody has added the same rule.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            shared = folder / FILE
            path = shared if _replaceable(shared) else folder / f"event-{_user()}.yaml"
            return _added(path, rule, known_rules)
    except OSError as error:
        raise RequestError(
            "rules.add_not_written",
            "cannot write a rule to {folder}: {what}",
            hint="use --here project or --here user to write it elsewhere",
            folder=folder,
            what=error.strerror or error,
        ) from error


def as_yaml(rule: Rule) -> str:
    """Return a rule as a YAML list item, indented by two; texts are in double quotes, as in JSON."""
    pattern, sample = rule.patterns[0], rule.sample
    lines = [
        f"  - id: {rule.id}", f"    part: {rule.part}", f"    level: {rule.level}", f"    title: {_quoted(rule.title)}",
        "    patterns:", f"      - regex: {_quoted(pattern.regex)}",
    ]  # fmt: skip
    lines += [f"    advice: {_quoted(rule.advice)}"] if rule.advice else []
    if sample is not None:
        lines += ["    sample:", f"      text: {_quoted(sample.text)}", f"      source: {_quoted(sample.source)}"]
    return "\n".join(lines) + "\n"


def _added(path: Path, rule: Rule, known_rules: Sequence[Rule]) -> Taught:
    """Replace a file of rules by one with another rule at its end, unless the new file would be invalid."""
    before = f"{_HEADER}rules:\n"
    present: list[Rule] = []
    if path.exists():
        before = path.read_text("utf-8", "surrogateescape")
        try:
            present = load_rule_file(path)
        except ConfigError as error:
            raise RequestError(
                "rules.add_broken",
                "{path} would become invalid: {problem}",
                hint="repair the file (`hackathon rules check`) and try again",
                path=path,
                problem=str(error.problems[0]),
            ) from error
    for other in present:
        if other.patterns == rule.patterns:
            raise RequestError(
                "rules.add_known",
                "rule {id} already has this pattern",
                hint="see `hackathon rules show {id!q}`; a rule with the same id in the event's file replaces it",
                id=other.id,
            )
    rule = replace(rule, id=_free(rule.id, {other.id for other in [*present, *known_rules]}))
    text = as_yaml(rule)
    first = re.search(r"^rules:[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*(?P<indent> *)-", before, re.MULTILINE)
    shift = len(first["indent"]) - 2 if first is not None else 0
    shifted = [f"{' ' * shift}{line}" if shift > 0 else line[-shift:] for line in text.splitlines(keepends=True)]
    content = before + ("" if before.endswith("\n") else "\n") + "".join(shifted)
    trial = path.with_name(f".{path.name}.{os.uname().nodename}.{os.getpid()}.trial")
    try:
        write_whole(trial, content)
        # only the names of the other rules are needed: preparing a search for them all takes seconds
        problems = check_files([trial], [replace(other, patterns=[]) for other in known_rules], strict=False)
    finally:
        trial.unlink(missing_ok=True)
    if problems:
        raise RequestError(
            "rules.add_broken",
            "{path} would become invalid: {problem}",
            hint="repair the file (`hackathon rules check`) and try again",
            path=path,
            problem=str(problems[0]).replace(trial.name, path.name),
        )
    write_whole(path, content)
    path.chmod(0o600 | path.parent.stat().st_mode & 0o044)  # other users replace the file; they do not write into it
    return Taught(rule, path, text)


def _replaceable(path: Path) -> bool:
    """Return whether this user may replace a file: in a folder with the sticky bit only their own."""
    folder, user = path.parent.stat(), os.geteuid()
    if not folder.st_mode & 0o1000 or user in (0, folder.st_uid):
        return True
    return not path.exists() or path.stat().st_uid == user


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; continue without it where locks do not work (some parallel file systems)."""
    path = folder / f".{FILE}.lock"
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, 0o600 | folder.stat().st_mode & 0o066)
    try:
        end = time.monotonic() + WAIT
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
            except OSError:
                break
        yield
    finally:
        os.close(descriptor)


def _user() -> str:
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = str(os.geteuid())
    return re.sub(r"[^A-Za-z0-9._-]", "-", name)


def _head(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0]


def _generalised(word: str, varying: re.Pattern[str], *, is_host: bool) -> str:
    """Return the expression for a word; `is_host`: a name with a number is a host's."""
    host = _HOST.search(word) if is_host else None
    if host is not None:
        return re.escape(word[: host.start()]) + r"\S+" + re.escape(word[host.end() :])
    expression, at = "", 0
    for match in varying.finditer(word):
        expression += re.escape(word[at : match.start()])
        kind = match.lastgroup or ""
        expression += r"[+-]?\d[\d.,:eE+-]*" if kind == "number" else r"\w+" if kind == "hex" else r"\S+"
        at = match.end()
    return expression + re.escape(word[at:])


def _name(text: str) -> str:
    words = [word.lower() for word in re.findall(r"[A-Za-z]{3,}", re.sub(_VARIES, " ", text.replace(REMOVED, " ")))]
    return "-".join(words[:6])[:60].strip("-") or "taught"


def _free(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}-{number}", number + 1
    return candidate


def _part_of(text: str) -> Part:
    lowered = text.lower()
    return next((part for part, words in _PARTS if re.search(words, lowered)), "framework")


def _plain(text: str) -> str:
    """Return a text without braces, which would be placeholders."""
    return text.replace("{", "(").replace("}", ")")


def _quoted(text: object) -> str:
    return json.dumps(text, ensure_ascii=False)
