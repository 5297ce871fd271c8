"""Suggest entries of `metrics:` for lines that look like a throughput, tested on these very lines.

Without such lines, for those that look like the time of an epoch or a step.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hackathon.logs.lines import read_lines
from hackathon.logs.metrics import LONGEST, scan
from hackathon.logs.patterns import may_never_end, may_take_long
from hackathon.logs.suggested_times import LEAST_OF_ELAPSED, NAMES, Growth, times
from hackathon.logs.values import NumberStream, number
from hackathon.logs.words import EACH, ECHO, NO_TRAINING, NOT_REACHED, RATES, CustomaryWords, prepares
from hackathon.text.printable import printable

MOST_LINES = 200_000
"""Lines of a log that are read."""
MOST = 5
"""Entries that are proposed."""
FORMS = 400
"""Different forms of lines that are distinguished: progress output may have any number of them."""
SHOWN = 5
"""Values that are stored for display."""
_DIGITS = r"\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(rf"(?<![\w.,]){_DIGITS}|(?<=[^\W\dA-Za-z_]){_DIGITS}")
_GROUP = rf"({_DIGITS})"
_SPEED = re.compile(
    r"(?i)throughput|\bspeed\b|\bips\b|\bfps\b|\bqps\b|\btps\b|\bsps\b|\brate\b|\bper\s?sec|_per_s"
    r"|/\s?(?:s|secs?|seconds?)(?![a-z0-9])|/秒|毎秒|秒間|秒あたり|スループット|速度|処理性能"
)
_OTHERS = re.compile(r"(?i)^\s?(?:[kmgtp]i?)?(?:b|bits?|bytes?)\s?/\s?s|^\s?k?m\s?/\s?s|^\s?%")
"""Units of other quantities than training: bytes, metres, shares."""
_OF_WORK = "".join(
    rf"(?<!\b{word} )"
    for word in ("frame", "frames", "image", "token", "step", "iteration", "training", "processing", "update")
)
_NO_SPEED = re.compile(
    rf"(?i){_OF_WORK}\brate(?:\s(?:is|of|at|was|は|が|[(\[]\S{{1,24}}[)\]]))?$"
    r"|\b(?:video|camera|clip|capture|target|max|limit)\s(?:fps|speed)|//"
)
"""Words before a number without a unit per second: the learning rate and other shares, or a property of the data."""
_WORDS_BEFORE = re.compile(
    r"(?:[^\s\d,;|=:]{1,24}\s{1,2})?[^\s\d,;|=:]{1,24}(?:\s{0,2}[:=]?\s{0,8}|\s{1,40}\|\s{1,8})$"
)
_LINKS = re.compile(r"[(\[][^()\[\]\s]{1,24}[)\]]|is|at|of|was|total|avg|average|mean|は|が")
"""Text that may be between the word for speed and its number."""
_UNIT_BEHIND = re.compile(r"\s?(?:[kKM千万億]\s?)?[^\s\d,;:|=()\[\]]{1,24}")


@dataclass(frozen=True)
class Suggestion:
    """An entry for one number of a program, with its values in the logs."""

    name: str
    """`samples_per_s`, `tokens_per_s`, `steps_per_s`, or `throughput` if the counted unit is unclear.

    For times: one of `suggested_times.NAMES`.
    """
    pattern: str
    unit: str
    skip_first: int
    ranks: str
    """`sum` if the unit is that of one process and several print it, else `first`."""
    file: str
    """The log of the first line that it matches."""
    line: int
    """From 1."""
    text: str
    """That line."""
    values: tuple[float, ...]
    """The first SHOWN values of that log."""
    count: int
    """Number of values of that log."""
    value: float
    """The value of a run with these logs."""
    each: bool
    """Whether the unit means that the number is one process's."""

    def entry(self) -> list[str]:
        """Return the lines of project.yaml below `metrics:`."""
        return [
            f"  {self.name}:",
            f"    pattern: {_quoted(self.pattern)}",
            f"    unit: {_quoted(self.unit)}",
            "    reduce: median",
            f"    skip_first: {self.skip_first}",
            *([f"    ranks: {self.ranks}"] if self.ranks != "first" else []),
        ]


@dataclass
class _Form:
    """Lines of one form."""

    name: str
    pattern: str
    unit: str
    each: bool
    file: str
    line: int
    text: str
    count: int = 0
    start: int | None = None
    """For a time: position of its number in the text."""
    doubtful: bool = False
    """Whether it may be another time than one of an epoch or a step, as long as there are few values."""


def suggestions(logs: Sequence[Path]) -> list[Suggestion]:
    """Return entries for some logs, the most probable first; `logs` are those of ranks, lowest first.

    Times only without a rate. The first MOST_LINES lines of each log are read. A pattern that misses the number in its
    own line is omitted, and so is one that may take long. A last line without a line end counts.
    """
    forms: dict[str, _Form] = {}
    of_times: dict[str, _Form] = {}
    for path in logs:
        for position, line in enumerate(read_lines(path, torn=True), 1):
            if position > MOST_LINES:
                break
            _take(line[:LONGEST], path.name, position, forms)
            _take_times(line[:LONGEST], path.name, position, of_times)
    offers = [suggestion for form in forms.values() if (suggestion := _tried(form, logs)) is not None]
    offers = offers or [suggestion for form in of_times.values() if (suggestion := _tried(form, logs)) is not None]
    offers.sort(key=lambda suggestion: (_rank(suggestion.name), -suggestion.count))
    unlike: dict[tuple[str, int, float], Suggestion] = {}
    for entry in offers:
        unlike.setdefault((entry.file, entry.line, entry.values[0]), entry)
    return list(unlike.values())[:MOST]


def block(suggestions: Sequence[Suggestion], notes: Iterable[str] = (), *, active: bool = True) -> list[str]:
    """Return the lines for project.yaml: the first suggestion is active if `active`, the others are comments."""
    lines = [f"# {note}" for note in notes]
    for position, suggestion in enumerate(suggestions):
        off = "" if active and position == 0 else "# "
        numbers = ", ".join(f"{value:g}" for value in suggestion.values) + (
            ", …" if suggestion.count > len(suggestion.values) else ""
        )
        lines += [
            f"# {suggestion.file}:{suggestion.line}: {printable(suggestion.text).strip()[:200]}",
            f"#   {numbers} → {suggestion.value:g} {printable(suggestion.unit)}".rstrip(),
        ]
        if suggestion.name not in RATES:
            lines.append(f"{off}metric: {suggestion.name}")
        lines += [f"{off}{text}" for text in ("metrics:", *suggestion.entry())]
    return lines


def _take(line: str, file: str, position: int, forms: dict[str, _Form]) -> None:
    if not _SPEED.search(line) or ECHO.search(line) or prepares(line):
        return
    numbers = list(_NUMBER.finditer(line))[:64]
    for index, match in enumerate(numbers):
        start = max(match.start() - 60, numbers[index - 1].end() if index else 0)
        end = min(match.end() + 40, numbers[index + 1].start() if index + 1 < len(numbers) else len(line))
        before, behind = line[start : match.start()], line[match.end() : end]
        form = _form(before, match[0], behind)
        if form is None or _OTHERS.search(behind) or NO_TRAINING.search(before) or NOT_REACHED.search(before):
            continue
        if form.pattern not in forms and len(forms) < FORMS:
            form.file, form.line, form.text = file, position, line
            forms[form.pattern] = form
        if form.pattern in forms:
            forms[form.pattern].count += 1


def _take_times(line: str, file: str, position: int, forms: dict[str, _Form]) -> None:
    counted: set[str] = set()
    for time in times(line):
        if ECHO.search(line):
            return
        edge = r"\b" if time.words[:1].isalnum() else "" if time.words else r"(?<![\w.,])"
        # the separate first digit keeps the spaces before and after the number apart for `may_take_long`
        words = re.sub(r"\d+", lambda _: r"\d\d*", _escaped(time.words))
        end = r"(?![\w.:])" if not time.behind else r"(?!\w)" if time.behind[-1:].isascii() else ""
        pattern = f"{edge}{words}{_GROUP}{_escaped(time.behind)}{end}"
        if pattern not in forms and len(forms) < FORMS:
            forms[pattern] = _Form(
                time.name, pattern, time.unit, False, file, position, line, 0, time.start, time.doubtful
            )
        if pattern in forms and pattern not in counted:  # omit one that also matches another time in the line
            counted.add(pattern)
            forms[pattern].count += 1


def _form(before: str, digits: str, behind: str) -> _Form | None:
    """Return the form of a number with its words; None when they do not concern speed."""
    words = _WORDS_BEFORE.search(before)
    last = words[0].rstrip(" \t:=|").rpartition(" ")[2] if words else ""
    speed = _SPEED.search(last) or (_LINKS.fullmatch(last) and words and _SPEED.search(words[0]))
    named = re.sub(r"^[^\w(\[]+\s+", "", words[0]) if words and speed else ""  # a bare sign carries no information
    unit = _UNIT_BEHIND.match(behind)
    its_unit = unit[0] if unit and "/" in unit[0] and _SPEED.search(unit[0]) else ""
    if (not named and not its_unit) or (not its_unit and _NO_SPEED.search(" ".join(named.rstrip(" :=|").split()))):
        return None
    # words alone are enough: any text may follow a unit after them
    pattern = f"{_escaped(named)}{_GROUP}{_escaped(its_unit)}" if named else f"(?<![\\w.,]){_GROUP}{_escaped(its_unit)}"
    names = [
        name for name, _ in CustomaryWords().read(f"{before[-len(named) :] if named else ''}{digits}{behind[:40]}")
    ]
    rates = [name for name in names if name.split("/")[0] in RATES]
    inside = re.search(r"[(\[]([^()\[\]\s]{1,24})[)\]]", named)
    shown_unit = its_unit.strip() or (inside[1] if inside and "/" in inside[1] else "")
    name = rates[0].split("/")[0] if rates and not re.match(r"[kKM千万億]\s?\w", shown_unit) else "throughput"
    if name in RATES:
        shown_unit = name.replace("_per_", "/")
    return _Form(name, pattern, shown_unit, bool(rates) and rates[0].endswith(EACH), "", 0, "")


def _escaped(words: str) -> str:
    """Return an expression for words, in which a space matches any number of spaces."""
    text = re.escape(" ".join(words.split()))
    begins, ends = words[:1].isspace(), words[-1:].isspace()
    return (r"\s+" if begins else "") + text.replace("\\ ", r"\s+") + (r"\s*" if ends else "")


def _tried(form: _Form, logs: Sequence[Path]) -> Suggestion | None:
    """Return a form's values in the logs; None without any or with an unsuitable pattern."""
    if not form.pattern.isprintable() or may_never_end(form.pattern) or may_take_long(form.pattern):
        return None
    compiled = {"": re.compile(form.pattern)}
    first: list[float] = []
    parts: list[float] = []
    count = total = 0
    growth = Growth()
    for path in logs:
        sample = _Shown()
        scan(read_lines(path, torn=True), compiled, {"": sample})
        total += sample.count
        if sample.count:
            if not first:
                first, count, growth = sample.first_ones, sample.count, sample.growth
            value = sample.median(_skipped(count))
            if value is not None:
                parts.append(value)
    if not parts or number(_found(compiled[""], form.text)) is None:
        return None
    if form.start is not None:
        match = compiled[""].search(form.text)
        # a pattern that also matches the time of a validation, or of a part, would mix them
        alone = match is not None and match.start(1) == form.start and total <= form.count
        if not alone or growth.steady or (form.doubtful and count < LEAST_OF_ELAPSED):
            return None
    summed = form.each and len(parts) > 1
    return Suggestion(
        form.name, form.pattern, form.unit, _skipped(count), "sum" if summed else "first", form.file, form.line,
        form.text, tuple(first), count, sum(parts) if summed else parts[0], form.each,
    )  # fmt: skip


def _skipped(count: int) -> int:
    """Return how many first values are warm-up, as far as their number allows."""
    return 2 if count >= 10 else 1 if count >= 4 else 0


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1] if match else ""


class _Shown(NumberStream):
    """A stream that stores its first values for display, counts all, and reduces without the warm-up."""

    def __init__(self) -> None:
        super().__init__()
        self.first_ones: list[float] = []
        self.count = 0
        self.growth = Growth()
        self._without = {skip: NumberStream(skip) for skip in (0, 1, 2)}

    def add(self, value: float) -> None:
        """Add one value."""
        self.count += 1
        self.growth.add(value)
        if len(self.first_ones) < SHOWN:
            self.first_ones.append(value)
        for stream in self._without.values():
            stream.add(value)

    def median(self, skip: int) -> float | None:
        """Return the median without the first `skip` values; None without any."""
        return self._without[skip].reduce("median")


def _rank(name: str) -> int:
    order = (*RATES[:2], "throughput", RATES[2], *NAMES)
    return order.index(name)


def _quoted(text: str) -> str:
    """Return a printable text as a YAML scalar in single quotes."""
    return "'" + text.replace("'", "''") + "'"
