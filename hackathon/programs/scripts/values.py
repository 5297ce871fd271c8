"""The values of a script's variables, as far as the script and its header decide them. Nothing is run."""

import ast
import operator
import re
from collections.abc import Callable, Mapping

from hackathon.programs.scripts.shell import LITERAL, Command, scan

_SETS = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_KEEPING = frozenset({"export", "declare", "local", "readonly", "typeset"})
_NAME = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:\[[^\]]*\])?(?::?-[^{}]*)?\})")
_ARITHMETIC = re.compile(r"\$\(\(([^$`]{1,80}?)\)\)")
_COUNT = re.compile(r"\$\{#([A-Za-z_]\w*)\[[@*]\]\}")
_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
LONGEST = 4000
"""Characters of a value that are followed."""


class ShellValues:
    """The variables of a script at one of its commands.

    A value is a text in which `$NAME` is a variable that the script alone does not decide.
    """

    def __init__(self, counts: Mapping[str, int], node_counts: str, hosts: str, nodes: int | None) -> None:
        """`counts`: variables that the header decides."""
        self.values: dict[str, str] = {name: str(count) for name, count in counts.items()}
        self.lines: dict[str, int] = {}
        self._node_counts, self._hosts, self._nodes = re.compile(node_counts), re.compile(hosts), nodes
        self._header = frozenset(self.values)
        self.exported: set[str] = set()
        """Variables that programs of the script have, too."""

    def take(self, command: Command) -> tuple[str, ...]:
        """Remember what a command sets; return its other words, expanded."""
        words = [_dollars(word, command.raw) for word in command.marked]
        if words[:1] == ["export"]:
            self.exported |= {word.partition("=")[0].rstrip("+") for word in words[1:]}
        if command.loop.startswith("for "):
            self.values.pop(command.loop[4:], None)
        exports = words[:1] != [] and words[0] in _KEEPING
        sets = []
        if exports:
            sets, words = [word for word in words[1:] if _SETS.fullmatch(word)], []
        while words and _SETS.fullmatch(words[0]):
            sets.append(words.pop(0))
        if words[:1] in (["read"], ["unset"], ["mapfile"], ["readarray"]):
            for name in words[1:]:
                self.values.pop(name, None)
        for text in sets if not words else ():  # those before a command are of that command alone
            self._set(text, command)
        texts = {at + 1 for at, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)}  # each stays one word
        return tuple(
            part
            for at, word in enumerate(words)
            for part in ([self.passed_on(self.expand(word))] if at in texts else self._split(word))
        )

    def _set(self, text: str, command: Command) -> None:
        match = _SETS.fullmatch(text)
        assert match is not None
        name, added, value = match.groups()
        if value[:1] == "(" and value[-1:] == ")":
            value = " ".join(re.sub(r"(?:^|\s)#.*", "", line) for line in value[1:-1].split("\n"))
        value = self.expand(value).replace("\\\n", " ")
        if added:
            value = f"{self.values.get(name, '$' + name)} {value}"
        self.lines[name] = command.line
        if command.depth or len(value) > LONGEST or name in re.findall(r"\$\{?(\w+)", value):
            self.values.pop(name, None)  # it depends on what runs, or on the environment
        else:
            self.values[name] = value

    def _split(self, word: str) -> list[str]:
        """Return the words of an expanded word: a variable that is a word of its own may be several."""
        text = self.expand(word)
        alone = _NAME.fullmatch(word)
        return _WORD.findall(text) if alone and text != word else [text]

    def expand(self, text: str) -> str:
        """Return a text with the values that are known."""
        if "$" not in text:
            return text
        text = _COUNT.sub(lambda match: self._length(match[1]) or match[0], text)
        text = _NAME.sub(lambda match: self.values.get(match[1] or match[2], match[0]), text)[:LONGEST]
        text = _ARITHMETIC.sub(lambda match: self._sum(match[1]) or match[0], text)
        if self._nodes and re.fullmatch(r"\$\(.*\)|`.*`", text, re.DOTALL) and self._node_counts.search(text):
            return str(self._nodes)
        return text

    def _length(self, name: str) -> str:
        value = self.values.get(name, "")
        return str(self._nodes) if self._nodes and self._hosts.search(value) else ""

    def _sum(self, text: str) -> str:
        """Return the value of a sum or product of known numbers; "" for anything else."""
        text = re.sub(r"[A-Za-z_]\w*", lambda match: self.values.get(match[0], match[0]), text)
        try:
            value = _number(ast.parse(text.strip().replace("/", "//"), mode="eval").body)
        except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
            return ""
        return "" if value is None else str(value)

    def passed_on(self, text: str) -> str:
        """Return a text for another shell with the exported variables that are known."""
        return _PASSED.sub(
            lambda match: self.values.get(match[1], match[0]) if match[1] in self.exported else match[0], text
        )

    def decided(self, name: str) -> bool:
        """Return whether the script or its header sets a variable before this command."""
        return name in self.lines or name in self._header


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 10**6:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _number(node.left), _number(node.right)
        return None if left is None or right is None else _OPERATORS[type(node.op)](left, right)
    return None


def _dollars(word: str, raw: str) -> str:
    """Return a word with `$(…)` for backquotes that this shell expands, not another one."""
    if "`" not in word or "\\`" in word or re.search(r"'[^']*`[^']*'", raw):
        return word
    return re.sub(r"`([^`]*)`", r"$(\1)", word)


_PASSED = re.compile(LITERAL + r"\{?([A-Za-z_]\w*)\b\}?")
_WORD = re.compile(r"(?:\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|\S)+")
_SUBSTITUTED = re.compile(r"\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`")
_TOKEN = re.compile("\x02([0-9]+)\x02")


def commands_of(text: str) -> list[tuple[str, ...]]:
    """Return the words of each command in a text that another shell reads.

    There `$` is a variable of the batch script that is not known, and `LITERAL` one of the other shell.
    """
    results: list[str] = []

    def token(match: re.Match[str]) -> str:
        results.append(match[0])
        return f"\x02{len(results) - 1}\x02"

    text = _SUBSTITUTED.sub(token, text.replace("\\" + LITERAL, LITERAL))
    text = text.replace("$", "\x01").replace(LITERAL, "$")
    return [
        tuple(_TOKEN.sub(lambda match: results[int(match[1])], word.replace("$", LITERAL).replace("\x01", "$"))
              for word in command.marked)
        for command in scan(tuple(text.split("\n"))).commands
    ]  # fmt: skip
