"""Split a shell script into lines and commands, as far as a linter needs them. Nothing is expanded or run.

It handles multi-line quotes, here-documents, continued lines, comments and `&`; the content of `$(…)` belongs to its
word. Syntax that it does not understand ends up as words: rules stay silent when unsure.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

_HERE = re.compile(r"<<(-?)\s*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.+!%-]+))")
_SHELLS = re.compile(r"#!\s*(?:/\S*/)?(?:env\s+(?:-S\s+)?)?(?:/\S*/)?(bash|sh|ksh\w*|zsh|dash)\b")
LITERAL = "\0"
"""Stands for a `$` in single quotes or behind a backslash: no script contains this character."""
LONGEST = 2000
"""Characters of a line whose commands are parsed: longer, generated lines could keep a pattern busy for hours."""
_NO_COMMANDS = frozenset(
    [
        "then",
        "do",
        "else",
        "elif",
        "fi",
        "done",
        "esac",
        "if",
        "while",
        "until",
        "for",
        "case",
        "select",
        "function",
        "{",
        "}",
        "!",
        "time",
        "in",
        "(",
        ")",
    ]
)

_ENDS = {"}": "{", "done": "do", "fi": "if", "esac": "case"}
"""End of a block → its beginning."""


class Command(NamedTuple):
    """A simple command: the words between two operators."""

    line: int
    words: tuple[str, ...]
    """Without their quotation marks; redirections are separate words."""
    raw: str
    """Its first line."""
    background: bool
    """`&` follows it, or the list or block that contains it."""
    depth: int
    """Number of open blocks and brackets around it."""
    marked: tuple[str, ...] = ()
    """`words` with `LITERAL` for each `$` that the shell passes on."""
    end: int = 0
    """Its last line."""
    loop: str = ""
    """The first words of the loop around it, `for NAME`; empty outside of loops."""


@dataclass(frozen=True)
class ShellScript:
    """The parsed script."""

    shell: bool
    """Whether a shell reads it: a Python or C shell script has no commands here."""
    name: str
    """`bash`, `sh`, …; empty without a first line that names it."""
    outside: frozenset[int]
    """Lines without commands and comments of this script: here-documents and the inside of quotes."""
    documents: frozenset[int]
    """Lines of here-documents."""
    commands: tuple[Command, ...]


def scan(lines: tuple[str, ...], default: bool = True) -> ShellScript:
    """Return the commands of a script. `default`: whether a shell reads a script without `#!`."""
    first = lines[0] if lines else ""
    match = _SHELLS.match(first)
    shell = bool(match) if first.startswith("#!") else default
    reader = _Reader(lines)
    if shell:
        reader.read()
    return ShellScript(shell, match[1] if match else "", frozenset(reader.outside), frozenset(reader.documents),
                 tuple(reader.commands))  # fmt: skip


class _Reader:
    """One pass over the characters of a script."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self.lines = lines
        self.outside: set[int] = set()
        self.documents: set[int] = set()
        self.commands: list[Command] = []
        self.words: list[str] = []
        self.word: str | None = None
        self.line = 0
        self.begin = 0
        self.blocks: list[tuple[str, str]] = []
        self.loop = ""
        self.opened: list[int] = []
        self.pending: list[tuple[bool, str]] = []

    def read(self) -> None:
        number, quote, nested, ticks = 0, "", 0, False
        while number < len(self.lines):
            text = self.lines[number]
            number += 1
            self.line = number
            if quote or nested:
                self.outside.add(number)
            at = 0
            continued = False
            while at < len(text):
                letter = text[at]
                if quote:
                    if letter == "\\" and quote == '"':
                        self.put(text[at : at + 2].replace("$", LITERAL))
                        at += 2
                        continue
                    if letter == quote:
                        quote = ""
                    else:
                        self.put(LITERAL if quote == "'" and letter == "$" else letter)
                elif letter == "\\":
                    if at + 1 == len(text):
                        continued = True
                    else:
                        self.put(LITERAL if text[at + 1] == "$" else text[at + 1])
                    at += 1
                elif nested:
                    nested += (letter == "(") - (letter == ")")
                    if letter in "'\"":
                        quote = letter
                    self.put(letter)
                elif letter in "'\"":
                    quote = letter
                    self.put("")
                elif letter == "`":
                    ticks = not ticks
                    self.put(letter)
                elif ticks:
                    self.put(letter)
                elif text.startswith(("$(", "<(", ">("), at):
                    self.put(text[at : at + 2])
                    nested, at = 1, at + 1
                elif text.startswith("${", at):
                    end = text.find("}", at)
                    end = len(text) - 1 if end < 0 else end
                    self.put(text[at : end + 1])
                    at = end
                elif letter == "#" and self.word is None:
                    break
                elif letter.isspace():
                    self.end_word()
                elif text.startswith("<<<", at):
                    self.put("<<<")
                    while text.startswith("<", at + 1):
                        at += 1
                elif text.startswith("<<", at):
                    match = _HERE.match(text, at)
                    if match:
                        self.pending.append((bool(match[1]), match[2] or match[3] or match[4]))
                        at = match.end() - 1
                    else:
                        self.put(letter)
                elif letter == "(" and (self.word or "").endswith("="):
                    self.put(letter)
                    nested = 1
                elif letter in "|;&()" and not self.redirects(text, at):
                    at += self.operator(text, at)
                else:
                    self.put(letter)
                at += 1
            if not continued and not quote and not nested:
                ticks = False
                self.end_command(False)
            elif quote or nested:
                self.put("\n")
            number = self.skip_documents(number)
        self.end_command(False)

    def redirects(self, text: str, at: int) -> bool:
        """Return whether `&` is part of a redirection: `2>&1`, `&>file`, `<&-`."""
        return text[at] == "&" and (text[at - 1 : at] in (">", "<") or text[at + 1 : at + 2] == ">")

    def put(self, text: str) -> None:
        if self.word is None:
            self.word = ""
            if not self.words:
                self.begin = self.line
        self.word += text

    def end_word(self) -> None:
        if self.word is not None:
            self.words.append(self.word)
        self.word = None

    def operator(self, text: str, at: int) -> int:
        """End a command at an operator; return the number of its further characters."""
        two = text[at : at + 2]
        if two in ("&&", "||", ";;", "|&", ";&"):
            self.end_command(False)
            return 1
        if text[at] == "(":
            self.end_word()
            if text[at + 1 : at + 2] == ")":
                self.words = []  # a function's name
            self.end_command(False)
            self.opened.append(len(self.commands))
            self.blocks.append(("(", ""))
        elif text[at] == ")":
            self.end_command(False)
            if self.blocks and self.blocks[-1][0] == "(":  # not that of a pattern of `case`
                self.blocks.pop()
        else:
            self.end_command(text[at] == "&")
        return 0

    def end_command(self, background: bool) -> None:
        self.end_word()
        words = self.words
        self.words = []
        while words and (words[0] in _NO_COMMANDS):
            word = words.pop(0)
            if word in ("{", "do", "then", "case") or word == "(":
                self.opened.append(len(self.commands))
            if word in ("for", "select", "while", "until"):
                self.loop = " ".join((word, *words[:1]))
            if word in _ENDS.values():
                self.blocks.append((word, self.loop if word == "do" else ""))
            elif word in _ENDS and any(block == _ENDS[word] for block, _ in self.blocks):
                while self.blocks.pop()[0] != _ENDS[word]:
                    pass
            if word in ("for", "select", "case", "function", "in"):
                words = []
        if words and len(self.lines[self.begin - 1]) <= LONGEST:
            loop = next((loop for _, loop in reversed(self.blocks) if loop), "")
            self.commands.append(Command(self.begin, tuple(word.replace(LITERAL, "$") for word in words),
                                         self.lines[self.begin - 1], background, len(self.blocks), tuple(words),
                                         self.line, loop))  # fmt: skip
        elif background and self.commands:
            # `( … ) &`, `{ … } &`, `done &`: all of it runs in the background
            start = next((n for n in reversed(self.opened) if n < len(self.commands)), len(self.commands) - 1)
            self.commands[start:] = [command._replace(background=True) for command in self.commands[start:]]
            self.opened.clear()

    def skip_documents(self, number: int) -> int:
        """Skip the here-documents that begin after a line; return where commands continue."""
        for dash, end in self.pending:
            while number < len(self.lines):
                line = self.lines[number]
                number += 1
                self.outside.add(number)
                if (line.lstrip("\t") if dash else line) == end:
                    break
                self.documents.add(number)
        self.pending.clear()
        return number
