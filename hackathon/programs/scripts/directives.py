"""Find the directives of a script, and parse their words and settings."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from hackathon.schedulers.scripts import ScriptLanguage, Setting

DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d\u30fc"
"""Characters that word processors, slides and Japanese keyboards write for `-`."""
_LOOKS_LIKE = str.maketrans(dict.fromkeys(DASHES, "-") | {"\u3000": " ", "\u00a0": " ", "\uff1d": "=", "\u201c": '"',
                            "\u201d": '"', "\u2018": "'", "\u2019": "'", "\uff1a": ":", "\uff0c": ","})  # fmt: skip


class Word(NamedTuple):
    """A word of a directive."""

    text: str
    """Without quotation marks."""
    start: int
    """Column of its start, from 0."""
    end: int


@dataclass(frozen=True)
class Directive:
    """A line that the scheduler obeys."""

    line: int
    """Counted from 1."""
    raw: str
    words: tuple[Word, ...]
    settings: tuple[Setting, ...]
    loose: tuple[Word, ...] = ()
    """Words that are neither options nor their values."""
    unknown: tuple[Word, ...] = ()
    lacking: tuple[Word, ...] = ()
    """Options whose value is missing."""
    comment: int | None = None
    """Column of a trailing comment."""
    open_quote: bool = False


@dataclass
class _Taken:
    settings: list[Setting] = field(default_factory=list)
    loose: list[Word] = field(default_factory=list)
    unknown: list[Word] = field(default_factory=list)
    lacking: list[Word] = field(default_factory=list)


def plain(text: str) -> str:
    """Return a text with look-alike characters replaced by those of options."""
    return text if text.isascii() else text.translate(_LOOKS_LIKE)


def corrected(line: str, start: int) -> str:
    """Return a directive with correct characters in its options; values stay unchanged."""
    if line.isascii():
        return line
    for word in split(line, start)[0]:
        option = re.split("[=\uff1d]", word.text)[0]
        if plain(option).strip()[:1] == "-" and (plain(option) != option or "\uff1d" in word.text):
            return plain(line)
    return line


def begins(line: str, prefix: str) -> int | None:
    """Return the column after the prefix of a directive, None for other lines (such as `#$HOME/x`)."""
    if not line.startswith(prefix):
        return None
    remaining = line[len(prefix) :]
    dash = plain(remaining.lstrip()[:1]) == "-"
    worded = len(prefix) > 2 and (not remaining or remaining[0].isspace())
    return len(prefix) if dash or worded else None


def parse(line: int, raw: str, start: int, language: ScriptLanguage) -> Directive:
    """Return the directive in a line whose prefix ends at a column."""
    words, comment, open_quote = split(raw, start, language.reading.comment_in_word)
    taken = _Taken()
    (_by_words if language.style == "words" else _by_getopt)(line, list(words), language, taken)
    return Directive(line, raw, words, tuple(taken.settings), tuple(taken.loose), tuple(taken.unknown),
                     tuple(taken.lacking), comment, open_quote)  # fmt: skip


def split(raw: str, start: int, comment_in_word: bool = False) -> tuple[tuple[Word, ...], int | None, bool]:
    """Return the words from a column on, the start of a trailing comment, and whether a quotation mark is unclosed."""
    words: list[Word] = []
    text, begin, quote = "", None, ""
    at = start
    while at < len(raw):
        letter = raw[at]
        if quote:
            if letter == quote:
                quote = ""
            else:
                text += letter
        elif letter.isspace() and letter.isascii():
            if begin is not None:
                words.append(Word(text, begin, at))
            text, begin = "", None
        elif letter == "#" and (begin is None or comment_in_word):
            if begin is not None:
                words.append(Word(text, begin, at))
            return tuple(words), at, False
        else:
            begin = at if begin is None else begin
            if letter in "\"'":
                quote = letter
            elif letter == "\\" and at + 1 < len(raw):
                at += 1
                text += raw[at]
            else:
                text += letter
        at += 1
    if begin is not None:
        words.append(Word(text, begin, len(raw)))
    return tuple(words), None, bool(quote)


def _settings(line: int, first: str, written: str, value: str, language: ScriptLanguage) -> list[Setting]:
    """Return the settings of an option: one, or one for each name in a list of resources."""
    if first not in language.lists:
        return [Setting(line, first, written, value)]
    parts: list[str] = []
    for part in value.split(","):
        # `depend=afterok:1,afterany:2` and `elapstim_req=1:00,0:50` contain commas
        if parts and "=" not in part and (":" in part or part[:1].isdigit()):
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    settings = []
    for part in parts:
        name, _, text = part.strip().partition("=")
        settings.append(Setting(line, f"{first} {name}", written, text))
    return settings


def _by_words(line: int, words: list[Word], language: ScriptLanguage, taken: _Taken) -> None:
    while words:
        word = words.pop(0)
        if word.text[:1] != "-" or word.text == "-":
            taken.loose.append(word)
        elif word.text not in language.options:
            taken.unknown.append(word)
            while words and words[0].text[:1] != "-":
                words.pop(0)
        else:
            first, count = language.options[word.text]
            values = [words.pop(0).text for _ in range(min(count, len(words)))]
            if len(values) < count:
                taken.lacking.append(word)
            taken.settings += _settings(line, first, word.text, " ".join(values), language)


def _by_getopt(line: int, words: list[Word], language: ScriptLanguage, taken: _Taken) -> None:
    """Parse like getopt_long(3): `-N value`, `-Nvalue`, `--name=value`, `--name value`, and unique prefixes."""
    while words:
        word = words.pop(0)
        if word.text[:1] != "-" or word.text in ("-", "--"):
            taken.loose.append(word)
        elif word.text.startswith("--"):
            name, sign, value = word.text.partition("=")
            option = _long(name, language)
            if option is None:
                taken.unknown.append(word)
                if not sign and words and words[0].text[:1] != "-":
                    words.pop(0)
                continue
            first, count = option
            if count == 0 and sign:
                taken.unknown.append(word)
                continue
            if count == 1 and not sign:
                if not words:
                    taken.lacking.append(word)
                    continue
                value = words.pop(0).text
            taken.settings += _settings(line, first, name, value, language)
        else:
            _short(line, word, words, language, taken)


def _short(line: int, word: Word, words: list[Word], language: ScriptLanguage, taken: _Taken) -> None:
    letters = word.text[1:]
    while letters:
        name, letters = f"-{letters[0]}", letters[1:]
        if name not in language.options:
            taken.unknown.append(Word(name, word.start, word.end))
            if not letters and words and words[0].text[:1] != "-":
                words.pop(0)
            return
        first, count = language.options[name]
        if count == 0:
            taken.settings.append(Setting(line, first, name, ""))
            continue
        if count == 1 and not letters:
            if not words:
                taken.lacking.append(word)
                return
            letters = words.pop(0).text
        taken.settings += _settings(line, first, name, letters, language)
        return


def _long(name: str, language: ScriptLanguage) -> tuple[str, int] | None:
    """Return the option of a long name or of a unique prefix."""
    if name in language.options:
        return language.options[name]
    options = {entry for option, entry in language.options.items() if option.startswith(name)}
    return options.pop() if len(options) == 1 and len(name) > 2 else None
