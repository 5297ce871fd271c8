"""The changes of a program: collected first, applied in one pass; unchanged code keeps its bytes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import libcst as cst

from hackathon.programs.port.names import with_argument
from hackathon.programs.port.source import SingleGpuProgram, room
from hackathon.text.messages import _
from hackathon.text.printable import printable

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
MARK = "# hackathon port: "
"""Prefix of our comments."""
_HOLE = "hackathon_port_hole"


@dataclass(frozen=True)
class PortFinding:
    """One change, or one open question."""

    line: int
    """In the original program, counted from 1; 0: the whole program."""
    rule: str
    kind: Literal["done", "note", "question"]
    message: str
    replacement: str | None = None
    file: str = ""
    """The program's own module; empty: the started file."""

    def as_json(self) -> dict[str, object]:
        """Return it in the common format of findings."""
        return {
            "line": self.line,
            "rule": self.rule,
            "severity": "error" if self.kind == "question" else "warning",
            "message": self.message,
            "effect": "changed" if self.kind == "done" else "ignored",
            "replacement": self.replacement,
        }


@dataclass
class Edits:
    """The planned changes of a program's nodes."""

    program: SingleGpuProgram
    findings: list[PortFinding] = field(default_factory=list)
    replaced: dict[cst.CSTNode, Callable[[cst.CSTNode], cst.CSTNode]] = field(default_factory=dict)
    before: dict[cst.CSTNode, list[Statement]] = field(default_factory=dict)
    after: dict[cst.CSTNode, list[Statement]] = field(default_factory=dict)
    comments: dict[cst.CSTNode, list[str]] = field(default_factory=dict)
    lifted: set[cst.CSTNode] = field(default_factory=set)
    """Statements of which a part was inserted before them: their comments stand above that."""
    guarded: set[cst.CSTNode] = field(default_factory=set)
    """Complete statements that move below `if guard:`."""
    guard: str = ""
    indented: dict[cst.CSTNode, tuple[cst.CSTNode, str]] = field(default_factory=dict)
    """First statement → last statement of its block, and the head of the `with` around both."""

    def done(self, node: cst.CSTNode | None, identifier: str, replacement: str | None = None, **values: object) -> None:
        """Record a change."""
        self._say(node, identifier, "done", replacement, values)

    def note(self, node: cst.CSTNode | None, identifier: str, **values: object) -> None:
        """Record a remark that needs no answer."""
        self._say(node, identifier, "note", None, values)

    def ask(self, node: cst.CSTNode | None, identifier: str, **values: object) -> None:
        """Record a question, as a comment before the statement that contains the node."""
        text = self._say(node, identifier, "question", None, values)
        if node is not None and text is not None and not isinstance(node, cst.Module):
            encoding = self.program.module.encoding  # the program's encoding may lack characters of our question
            written = text.encode(encoding, "replace").decode(encoding)
            self.comments.setdefault(self.program.statement(node), []).append(written)

    def _say(
        self,
        node: cst.CSTNode | None,
        identifier: str,
        kind: Literal["done", "note", "question"],
        replacement: str | None,
        values: dict[str, object],
    ) -> str | None:
        fields = {name: printable(value)[:120] if isinstance(value, str) else value for name, value in values.items()}
        text = " ".join(_(identifier, **fields).split())
        line = self.program.line(node) if node is not None else 0
        home = self.program.home(node)
        rule = identifier.partition(".")[2].replace("_", "-")
        finding = PortFinding(line, rule, kind, text, replacement, home.name if home is not self.program else "")
        if finding in self.findings:
            return None
        self.findings.append(finding)
        return text

    def statements(self, text: str) -> list[Statement]:
        """Return statements from their text, with the program's indentation."""
        module = cst.parse_module(text, self.program.module.config_for_parsing)
        return [statement for statement in module.body if isinstance(statement, Statement)]

    def expression(self, text: str) -> cst.BaseExpression:
        """Return an expression from its text."""
        return cst.parse_expression(text, self.program.module.config_for_parsing)

    def swap(self, node: cst.CSTNode, text: str) -> None:
        """Replace a node with another expression."""
        expression = self.expression(text)
        self.replaced[node] = lambda __: expression

    def change(self, node: cst.CSTNode, change: Callable[[cst.CSTNode], cst.CSTNode]) -> None:
        """Change a node, on top of earlier changes of it."""
        first = self.replaced.get(node)
        self.replaced[node] = change if first is None else lambda updated: change(first(updated))

    def wrap(self, node: cst.CSTNode, text: str) -> None:
        """Wrap a node: `{}` in the text is the node with its earlier changes."""
        outer = self.expression(text.replace("{}", _HOLE))
        hole = next(name for name in self.program.find(outer, cst.Name) if name.value == _HOLE)

        def change(updated: cst.CSTNode) -> cst.CSTNode:
            wrapped = outer.deep_replace(hole, updated)
            assert isinstance(wrapped, cst.CSTNode)
            return wrapped

        self.change(node, change)

    def put_argument(self, call: cst.Call, name: str, text: str) -> None:
        """Set a keyword argument of a call, replacing an argument with this name."""
        pattern = self.expression(f"f({name}={text})")
        assert isinstance(pattern, cst.Call)
        (extra,) = pattern.args

        def change(updated: cst.CSTNode) -> cst.CSTNode:
            assert isinstance(updated, cst.Call)
            args = list(updated.args)
            for number, argument in enumerate(args):
                if argument.keyword is not None and argument.keyword.value == name:
                    args[number] = argument.with_changes(value=extra.value)
                    return updated.with_changes(args=args)
            return updated.with_changes(args=with_argument(args, extra) if args else [extra])

        self.change(call, change)

    def put_before(self, node: cst.CSTNode, text: str) -> None:
        """Insert statements before the one that contains the node."""
        self.before.setdefault(self.program.statement(node), []).extend(self.statements(text))

    def put_after(self, node: cst.CSTNode, text: str) -> None:
        """Insert statements after the one that contains the node."""
        self.after.setdefault(self.program.statement(node), []).extend(self.statements(text))

    def files(self) -> set[SingleGpuProgram]:
        """Return the files with changes or questions."""
        parts = (self.replaced, self.before, self.after, self.comments, self.guarded, self.indented)
        return {self.program.home(node) for part in parts for node in part}

    def made(self, file: SingleGpuProgram | None = None) -> bytes:
        """Return the changed program, or one file of it."""
        home = file or self.program
        if home not in self.files():
            return home.raw
        with room():
            return self.changed(home).bytes + home.tail

    def changed(self, home: SingleGpuProgram) -> cst.Module:
        """Return the changed tree of a file."""
        with room():
            changed = home.module.visit(_Pass(self))
        assert isinstance(changed, cst.Module)
        return changed


class _Pass(cst.CSTTransformer):
    def __init__(self, edits: Edits) -> None:
        super().__init__()
        self.edits = edits

    def on_leave(self, original_node, updated_node):  # type: ignore[no-untyped-def]
        updated = updated_node
        if isinstance(original_node, cst.Module | cst.IndentedBlock):
            updated = updated.with_changes(body=self._body(original_node.body, updated.body))
        change = self.edits.replaced.get(original_node)
        return change(updated) if change is not None else updated

    def _body(self, old: object, new: object) -> list[Statement]:
        edits = self.edits
        body: list[Statement] = []
        guard: list[Statement] = []  # statements that move below one `if`
        block: list[Statement] | None = None
        last: cst.CSTNode | None = None
        head = ""
        for original, updated in zip(old, new, strict=True):  # type: ignore[call-overload]
            into = body if block is None else block
            first = edits.before.get(original, [])
            comments = edits.comments.get(original, [])
            if (first or comments or original not in edits.guarded) and guard:
                into.append(self._under(f"if {edits.guard}:", guard))
                guard = []
            if original in edits.indented:
                last, head = edits.indented[original]
                into = block = []
            statement = updated
            lines = [_comment(text) for text in comments]
            if first:
                # the program's comments stay above inserted statements
                above = lines if original in edits.lifted else []
                lines = [] if above else lines
                into.append(first[0].with_changes(leading_lines=[*statement.leading_lines, *above]))
                into.extend(first[1:])
                statement = statement.with_changes(leading_lines=lines)
            elif lines:
                statement = statement.with_changes(leading_lines=[*statement.leading_lines, *lines])
            if original in edits.guarded:
                guard.append(statement)
            else:
                into.append(statement)
            if original in edits.after:
                if guard:
                    into.append(self._under(f"if {edits.guard}:", guard))
                    guard = []
                into.extend(edits.after[original])
            if block is not None and original is last:
                if guard:
                    block.append(self._under(f"if {edits.guard}:", guard))
                    guard = []
                body.append(self._under(f"{head}:", block))
                block = None
        if guard:
            body.append(self._under(f"if {edits.guard}:", guard))
        return body

    def _under(self, head: str, inner: list[Statement]) -> Statement:
        shell = self.edits.statements(f"{head}\n    pass\n")[0]
        leading = inner[0].leading_lines
        body = [inner[0].with_changes(leading_lines=()), *inner[1:]]
        return shell.with_changes(leading_lines=leading, body=cst.IndentedBlock(body=body))


def _comment(text: str) -> cst.EmptyLine:
    return cst.EmptyLine(comment=cst.Comment(f"{MARK}{text}"))
