"""A parsed script: its lines as a scheduler reads them, its request, and the findings so far."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.programs.scripts.directives import Directive, begins, corrected, parse, plain
from hackathon.programs.scripts.findings import RULES, Edit, LintFinding, text_of
from hackathon.programs.scripts.machines import machine_of
from hackathon.programs.scripts.shell import ShellScript, scan
from hackathon.programs.scripts.source import ScriptText
from hackathon.schedulers.scripts import Effect, ScriptLanguage, ScriptRequest, Setting, Severity

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

CONTINUED = re.compile(r"\\\s*\Z")
"""The end of a line that continues in the next one, for schedulers that allow it."""


@dataclass
class ScriptLook:
    """The input of the rules."""

    source: ScriptText
    """With each directive in one line, see `whole`."""
    language: ScriptLanguage
    languages: list[ScriptLanguage]
    cluster: "Cluster | None"
    """The machine that the script is said to be for."""
    shell: ShellScript
    header_end: int
    """The line of the first command, or one more than the last line."""
    directives: list[Directive] = field(default_factory=list)
    """The directives that the scheduler obeys."""
    behind: list[int] = field(default_factory=list)
    """Lines after the first command that resemble directives and are not obeyed."""
    settings: list[Setting] = field(default_factory=list)
    parts: list[list[Setting]] = field(default_factory=list)
    """The settings of each component of a heterogeneous job; of other jobs one list."""
    request: ScriptRequest = field(default_factory=ScriptRequest)
    machine: "Cluster | None" = None
    """`cluster`, or the machine that the script's own settings give away."""
    folder: Path | None = None
    """The folder from which the script is submitted; None where that is not known."""
    findings: list[LintFinding] = field(default_factory=list)

    def has_rule(self, rule: str) -> bool:
        """Return whether a rule that not all machines have holds on this one."""
        return self.machine is not None and rule in self.machine.scripts.rules

    def line(self, number: int) -> str:
        """Return a line of the script, counted from 1."""
        return self.source.lines[number - 1]

    def setting(self, key: str) -> Setting | None:
        """Return the last setting of an option."""
        return next((setting for setting in reversed(self.settings) if setting.key == key), None)

    def told(self, line: int, *rules: str) -> bool:
        """Return whether a line has a finding of one of these rules."""
        return any(finding.line == line and (not rules or finding.rule in rules) for finding in self.findings)

    def add(
        self,
        rule: str,
        line: int,
        replacement: str | None = None,
        *,
        edits: Iterable[Edit] = (),
        safe: bool = False,
        severity: Severity | None = None,
        effect: Effect | None = None,
        **values: object,
    ) -> None:
        """Add a finding. `safe`: the replacement may be written without asking."""
        definition = RULES[rule]
        changes = tuple(edits) or (
            (Edit(line, tuple(replacement.split("\n"))),) if safe and replacement is not None else ()
        )
        text = text_of(rule, **({"scheduler": self.language.title} | values))
        self.findings.append(LintFinding(line, rule, severity or definition.severity, text, effect or definition.effect,
                                         replacement, changes))  # fmt: skip


def look_at(
    source: ScriptText, language: ScriptLanguage, languages: list[ScriptLanguage], cluster: "Cluster | None" = None
) -> ScriptLook:
    """Return a script as one scheduler reads it, without findings."""
    source = whole(source, language)
    shell = scan(source.lines, default=not language.reading.shebang_first)
    look = ScriptLook(source, language, languages, cluster, shell, first_command(source.lines, language))
    reading = language.reading
    for number, line in enumerate(source.lines, 1):
        indented = line[:1].isspace()
        start = _start(line, language)
        if start is None or (number in shell.outside and not reading.whole_script):
            continue
        if number >= look.header_end and reading.behind_commands == "ignored":
            look.behind.append(number)
            continue
        shift = len(line) - len(line.lstrip()) if indented else 0
        look.directives.append(parse(number, corrected(line, start + shift), start + shift, language))
    look.settings = [setting for directive in look.directives for setting in directive.settings]
    look.parts = [[]]
    for directive in look.directives:
        if any(re.fullmatch(language.separators, word.text) for word in directive.loose):
            look.parts.append([])
        look.parts[-1] += directive.settings
    look.machine = cluster or machine_of(look.settings, language)
    if look.machine is not None and language.of_machine is not None:
        look.language = language.of_machine(language, look.machine)
    look.request = look.language.read(look.settings)
    return look


def first_command(lines: tuple[str, ...], language: ScriptLanguage) -> int:
    """Return the line, counted from 1, at which the header ends."""
    return next((number for number, line in enumerate(lines, 1) if _is_command(line, language)), len(lines) + 1)


def _is_command(line: str, language: ScriptLanguage) -> bool:
    text = line.strip()
    if not text or text.startswith("#"):
        return False
    return not (language.reading.colon_is_no_command and line.startswith(":"))


def _start(line: str, language: ScriptLanguage) -> int | None:
    """Return the column after the prefix of a directive, without its indentation; None for other lines."""
    return begins(line.lstrip() if language.reading.indented == "read" else line, language.prefix)


def whole(source: ScriptText, language: ScriptLanguage) -> ScriptText:
    """Return a script with each continued directive in its first line; its other lines are empty.

    The scheduler passes it to the shell in this form, too.
    """
    if not language.reading.continued:
        return source
    lines: list[str] = []
    for number, line in enumerate(source.lines):
        if number < len(lines):
            continue
        if _is_command(line, language):
            break
        parts = [line]
        if _start(line, language) is not None:
            while CONTINUED.search(parts[-1]) and number + len(parts) < len(source.lines):
                parts.append(source.lines[number + len(parts)])
            parts = [CONTINUED.sub("", part) for part in parts]
        lines += ["".join(parts), *[""] * (len(parts) - 1)]
    return replace(source, lines=(*lines, *source.lines[len(lines) :]))


def detect(lines: tuple[str, ...], languages: list[ScriptLanguage]) -> ScriptLanguage | None:
    """Return the language of a script's directives: the most lines win, then the first line.

    Two languages with one prefix are distinguished by their words. Lines of a here-document do not count: a script that
    writes a job script need not be one.
    """
    inside = scan(lines).outside
    own = [line for number, line in enumerate(lines, 1) if number not in inside]
    for near in (False, True):
        directives: dict[str, list[str]] = {}
        for line in own:
            for prefix in {language.prefix for language in languages}:
                text = _meant(line, prefix) if near else line
                start = begins(text, prefix) if text is not None else None
                if text is not None and start is not None and plain(text[start:].lstrip()[:1]) == "-":
                    directives.setdefault(prefix, []).append(text)
        if directives:
            prefix = max(
                directives, key=lambda candidate: len(directives[candidate])
            )  # the first of equals: dicts preserve their order
            rivals = [language for language in languages if language.prefix == prefix]
            return max(
                rivals, key=lambda language: sum(bool(re.search(language.signs, line)) for line in directives[prefix])
            )
    return None


def _meant(line: str, prefix: str) -> str | None:
    """Return the directive that a line resembles: indented, `# PBS`, `##PBS`, in lower case, with a wide `＃`."""
    match = re.match(r"\s*[#\uff03]+\s*(\S.*)", line)
    word = prefix[1:]
    if not match or match[1][: len(word)].upper() != word:
        return None
    remaining = match[1][len(word) :]
    return prefix + remaining if plain(remaining.lstrip()[:1]) == "-" else None


def nearly(line: str, prefix: str) -> str | None:
    """Return the directive that a comment resembles, None for a directive and for other comments."""
    return None if begins(line, prefix) is not None else _meant(line, prefix)
