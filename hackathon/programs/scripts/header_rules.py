"""Rules about the position and form of directives: whether the scheduler reads them at all."""

import difflib
import re

from hackathon.programs.scripts.directives import Directive, begins, plain
from hackathon.programs.scripts.findings import Edit
from hackathon.programs.scripts.look import CONTINUED, ScriptLook, nearly
from hackathon.schedulers.scripts import Known, ScriptLanguage, Setting

_SPACED = re.compile(r"(?<=[\w-])(?:\s+=\s*|=\s+)(?=[^\s-])")


def check_file(look: ScriptLook) -> None:
    """Check the format of the file: line ends, marks, encoding, first line."""
    source, reading = look.source, look.language.reading
    if source.returns is not None:
        doubt = reading.carriage_returns == "unknown"
        look.add("carriage-return", source.returns, look.line(source.returns), safe=True,
                 effect="refused" if reading.carriage_returns == "refused" else "changed",
                 severity="warning" if doubt else "error")  # fmt: skip
    if source.mark and reading.mark_hides:
        look.add("mark-hides-directives", 1, look.line(1) if source.lines else "", safe=True)
    elif source.mark:
        look.add("byte-order-mark", 1, look.line(1) if source.lines else "", safe=True,
                 severity="error" if reading.shebang_first else None,
                 effect="refused" if reading.shebang_first else None)  # fmt: skip
    if source.undecodable is not None:
        look.add("not-utf8", source.undecodable)
    first = source.lines[0] if source.lines else ""
    if reading.shebang_first and not first.startswith("#!") and not source.mark:
        behind = next((number for number, line in enumerate(source.lines, 1) if line.startswith("#!")), None)
        blank = behind is not None and not any(line.strip() for line in source.lines[: behind - 1])
        edits = (
            [Edit(number, ()) for number in range(1, behind)] if blank and behind else [Edit(1, ("#!/bin/bash", first))]
        )
        look.add("no-shebang", 1, look.line(behind) if blank and behind else "#!/bin/bash", edits=edits)


def check_places(look: ScriptLook) -> None:
    """Report directives that the scheduler ignores, or obeys by accident."""
    language, reading = look.language, look.language.reading
    active = {setting.key for setting in look.settings}
    for number in look.behind:
        line = plain(look.line(number))
        keys = {setting.key for setting in _parsed(look, number, line).settings}
        after = max((directive.line for directive in look.directives), default=1)
        moves = not keys & active and not (reading.continued and CONTINUED.search(line))
        edits = [Edit(number, ()), Edit(after, (look.line(after), line.strip()))] if moves else []
        look.add("after-command", number, line.strip(), edits=edits, first=look.header_end,
                 command=look.line(look.header_end).strip())  # fmt: skip
    for number in range(1, min(look.header_end, len(look.source.lines) + 1)):
        _comment(look, number, active)
    if look.header_end <= len(look.source.lines) and look.line(look.header_end).startswith("\uff03"):
        meant = nearly(look.line(look.header_end), language.prefix)
        if meant is not None:
            look.add("full-width", look.header_end, plain(meant), safe=True, effect="ignored")
    if reading.whole_script:
        for directive in look.directives:
            if directive.line in look.shell.outside:
                look.add("in-document", directive.line)


def _parsed(look: ScriptLook, number: int, line: str) -> Directive:
    from hackathon.programs.scripts.directives import parse

    return parse(number, line.lstrip(), len(look.language.prefix), look.language)


def _comment(look: ScriptLook, number: int, active: set[str]) -> None:
    """Check a comment of the header that resembles a directive."""
    line, language = look.line(number), look.language
    meant = nearly(line, language.prefix)
    if meant is None or number in {directive.line for directive in look.directives}:
        return
    better = plain(meant)
    if line.lstrip().startswith(language.prefix) and line[:1].isspace():
        if language.reading.indented == "ignored":
            look.add("indented", number, better, safe=True)
        return
    parsed = _parsed(look, number, better)
    # `# sbatch -N 2 job.sh` tells how to submit
    keys = {setting.key for setting in parsed.settings if not parsed.loose}
    # `##PBS` is a common way to disable a directive, and so is `# PBS` beside the same option
    off = re.match(r"\s*##", line) and look.directives
    if keys and not off and not keys & active and language.reading.behind_commands != "unknown":
        look.add("commented", number, better)


def check_dialects(look: ScriptLook) -> None:
    """Report directives of other schedulers: ignored, or obeyed beside its own."""
    own = look.language
    prefixes: set[str] = {own.prefix}
    for other in look.languages:
        if other.prefix in prefixes:
            continue
        prefixes.add(other.prefix)
        lines = [
            number
            for number, line in enumerate(look.source.lines[: look.header_end - 1], 1)
            if (start := begins(line, other.prefix)) is not None and plain(line[start:].lstrip()[:1]) == "-"
        ]
        if not lines:
            continue
        if other.prefix == own.obeys:
            look.add("two-dialects" if look.directives else "partly-obeyed", lines[0], other=other.title)
        else:
            look.add("foreign-directive", lines[0], count=len(lines), other=other.title, prefix=own.prefix)


_PLACEHOLDER = re.compile(r"<[A-Za-z][^<>]*>|(?<=[=\s])\[[^\[\]]*[A-Za-z.][^\[\]]*\]|\{\{[^{}]*\}\}|\bYOUR[ _]\w+")
_IN_PLACE = re.compile(
    r"(?i:(?:d{1,2}-)?h{1,3}:m{1,2}(?::s{1,2})?)|[A-Z]+(?:_[A-Z]+)+|[xX?]+|\W*(?i:fix_?me|todo|tbd)\W*|(?:YOUR|your)\w*"
)
"""Words that stand for a number or a time."""


def check_placeholders(look: ScriptLook) -> None:
    """Report values that the reader of an example has to fill in."""
    for directive in look.directives:
        text = directive.raw if directive.comment is None else directive.raw[: directive.comment]
        judged = _judged(look, directive)
        match = _PLACEHOLDER.search(text)
        value = match[0] if match else next((bad.value for bad in judged if _IN_PLACE.fullmatch(bad.value)), "")
        if not value:
            continue
        loose = directive.loose and look.language.reading.loose_words == "refused"
        refused = bool(judged or loose) and not directive.unknown
        look.add("placeholder", directive.line, value=value, severity="error" if refused else None,
                 effect="refused" if refused else None)  # fmt: skip


def check_words(look: ScriptLook) -> None:
    """Report words in directives that make the scheduler refuse the script."""
    for directive in look.directives:
        if _wide(look, directive):
            continue
        _comment_behind(look, directive)
        _equals(look, directive)
        _unknown(look, directive)
        reading = look.language.reading
        if directive.open_quote and reading.loose_words == reading.open_quotes == "refused":
            look.add("open-quote", directive.line)
        if reading.unknown_options == "refused":
            for word in directive.lacking if not _hash_value(look, directive) else ():
                look.add("value-missing", directive.line, option=word.text)
        reported = look.told(directive.line, "spaced-equals", "unknown-option", "open-quote", "placeholder")
        for word in directive.loose[:1] if not reported else ():
            if re.match(look.language.stray, word.text):
                options = look.language.options
                first = next(name for name in options if len(name) == 2 and options[name][0] in look.language.lists)
                better = f"{directive.raw[: word.start]}{first} {directive.raw[word.start :]}"
                look.add("list-option-missing", directive.line, better, word=word.text, option=first)
            elif reading.loose_words == "refused" and not re.fullmatch(look.language.separators, word.text):
                note = re.sub(r"\s+\(\d+\)\s*\Z", "", directive.raw)  # of a documentation page
                look.add("loose-word", directive.line, note if note != directive.raw else None, word=word.text)


def _wide(look: ScriptLook, directive: Directive) -> bool:
    """Report characters that only resemble those of an option; return whether the scheduler refuses the line."""
    if look.line(directive.line) == directive.raw:
        return False
    look.add("full-width", directive.line, directive.raw, safe=True)
    return True


def _comment_behind(look: ScriptLook, directive: Directive) -> None:
    reading = look.language.reading.trailing_comment
    if directive.comment is None or _hash_value(look, directive) or not _refused(look, reading, "trailing-comment"):
        return
    better = directive.raw[: directive.comment].rstrip()
    edits = (Edit(directive.line, (directive.raw[directive.comment :], better)),)
    doubt = reading == "sometimes"
    look.add("trailing-comment", directive.line, better, edits=edits, severity="warning" if doubt else None)


def _hash_value(look: ScriptLook, directive: Directive) -> bool:
    """Return whether a text that looks like a comment is the value of an option."""
    lacking = directive.lacking[-1].text if directive.lacking else ""
    return directive.comment is not None and lacking in look.language.reading.hash_values


def _refused(look: ScriptLook, reading: Known, rule: str) -> bool:
    """Return whether a way of writing is refused, everywhere or on this machine."""
    return reading == "refused" or (reading == "sometimes" and look.has_rule(rule))


def _equals(look: ScriptLook, directive: Directive) -> None:
    reading = look.language.reading.spaced_equals
    end = len(directive.raw) if directive.comment is None else directive.comment
    text = directive.raw[:end]
    quoted = re.sub(r"\"[^\"]*\"|'[^']*'", lambda match: "x" * len(match[0]), text)
    if not _refused(look, reading, "spaced-equals") or not _SPACED.search(quoted):
        return
    better = text
    for match in reversed(list(_SPACED.finditer(quoted))):
        better = f"{better[: match.start()]}={better[match.end() :]}"
    refused = bool(directive.loose) or any(_judged(look, directive))
    look.add("spaced-equals", directive.line, better + directive.raw[end:], safe=True,
             severity="warning" if reading == "sometimes" else None, effect=None if refused else "changed")  # fmt: skip


def _judged(look: ScriptLook, directive: Directive) -> list[Setting]:
    bad = {verdict.line for verdict in look.language.judge(list(directive.settings)) if verdict.rule == "bad-value"}
    return [setting for setting in directive.settings if setting.line in bad]


def _unknown(look: ScriptLook, directive: Directive) -> None:
    language = look.language
    if language.reading.unknown_options != "refused":
        return
    for word in directive.unknown:
        option = word.text.partition("=")[0]
        relative = re.match(language.plugin_options, option) is not None
        if relative and option.startswith("--"):
            continue
        if relative and language.style == "words":
            continue
        if option == "-g" and look.machine is not None and look.machine.dialect.get("group") == "g":
            continue
        near = near_option(option, language)
        better = directive.raw.replace(option, near, 1) if near else None
        if relative:
            look.add("other-version", directive.line, option=option,
                     severity="error" if language.relatives_differ(look.settings) else None)  # fmt: skip
        else:
            look.add("unknown-option", directive.line, better, option=option)


def near_option(option: str, language: ScriptLanguage) -> str:
    """Return the option that was probably meant, or ""."""
    if option in language.meant:
        return language.meant[option]
    names = [name for name in language.options if name.startswith("--")]
    return next(iter(difflib.get_close_matches(option, names, 1, 0.8)), "") if option.startswith("--") else ""


def check_repeats(look: ScriptLook) -> None:
    """Report options of which another value counts, and variables in values that are not expanded."""
    reading = look.language.reading
    by_key: dict[tuple[int, str], list[Setting]] = {}
    for number, part in enumerate(look.parts):
        for setting in part:
            by_key.setdefault((number, setting.key), []).append(setting)
    for (_, key), several in by_key.items():
        first, last = (re.fullmatch(pattern, key) for pattern in (reading.first_wins, reading.last_wins))
        winner = several[0] if first else several[-1] if last else None
        for setting in several if winner else ():
            if winner and setting.value != winner.value:
                look.add(
                    "repeated",
                    setting.line,
                    option=setting.written,
                    value=setting.value,
                    winner=winner.value,
                    other=winner.line,
                )
    for setting in look.settings:
        named = reading.literal is not None and setting.key in reading.literal
        if named and re.search(r"\$\{?\w|`", setting.value) and not look.told(setting.line, "bad-value"):
            look.add("variable-literal", setting.line, option=setting.written, value=setting.value)
