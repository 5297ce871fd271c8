"""A whitelist for job templates, also a team's or an event's: anything else is refused before it is compiled.

A template may have blocks, `extends`, `include`, `if`, `for` over `directive.NAME`, and `set`; its expressions are
names, constants, tuples, comparisons, `and`, `or`, `not`, `~` and `directive.NAME`. It may write out
`{{ assignments }}` (quoted by Python), `{{ directive.NAME }}` (checked against the profile's patterns before
rendering), loop variables over `directive.…`, and `{{ super() }}`. Everything else could put a value into the script's
text, where one unquoted `{{ note }}` lets `$(rm -rf ~)` run, or reach Python's objects and so run code of the
template's author.
"""

from typing import TYPE_CHECKING

from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from jinja2 import Environment, nodes

GIVEN = frozenset({"scheduler", "launcher", "starter", "mpi", "handed_on", "bound", "container", "interactive"})
"""Names that a template may test, and that may be part of a file's name."""
_RESERVED = GIVEN | {"assignments", "directive", "super", "self", "loop", "caller", "varargs", "kwargs"}
_NODES = frozenset({
    "Template", "Output", "TemplateData", "Block", "Extends", "Include", "If", "For", "Assign", "Const", "Name",
    "Tuple", "Compare", "Operand", "Concat", "And", "Or", "Not", "Call", "Getattr",
})  # fmt: skip
_AS_WRITTEN = {
    "Getitem": "[…]", "List": "[…]", "Dict": "{…}", "CondExpr": "… if … else …", "Filter": "|", "FilterBlock": "filter",
    "Test": "is", "Import": "import", "FromImport": "from", "Macro": "macro", "CallBlock": "call", "With": "with",
    "AssignBlock": "set … endset", "Scope": "autoescape", "NSRef": "namespace", "Add": "+",
    "Sub": "-", "Mul": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "Neg": "-", "Pos": "+", "Slice": ":",
}  # fmt: skip
"""Node's name → Jinja's syntax, for what is refused."""


def lint(environment: "Environment", name: str, text: str, file: str) -> None:
    """Check one template's text; raises RequestError at the first construct that is not allowed."""
    from jinja2 import TemplateSyntaxError

    try:
        tree = environment.parse(text, name, file)
    except TemplateSyntaxError as error:
        raise RequestError(
            "jobs.template_syntax", "{file}:{line}: {what}", file=file, line=error.lineno, what=error.message
        ) from None
    except (RecursionError, ValueError, OverflowError, MemoryError) as error:
        raise RequestError("jobs.template_syntax", "{file}:{line}: {what}", file=file, line=1, what=error) from None
    try:
        _Check(file).walk(tree)
    except RecursionError as error:
        raise RequestError("jobs.template_syntax", "{file}:{line}: {what}", file=file, line=1, what=error) from None


class _Check:
    """Checks every node of one template."""

    def __init__(self, file: str) -> None:
        self.file = file

    def walk(self, tree: "nodes.Template") -> None:
        from jinja2 import nodes

        targets = [node for node in tree.find_all(nodes.Name) if node.ctx != "load"]
        for target in targets:
            if target.name in _RESERVED:
                raise RequestError(
                    "jobs.template_rebinds",
                    "{file}:{line}: a template may not redefine {name}",
                    file=self.file,
                    line=target.lineno,
                    name=target.name,
                )
        loops = {id(loop.target): loop.target.name for loop in tree.find_all(nodes.For)
                 if isinstance(loop.target, nodes.Name)}  # fmt: skip
        assigned = {target.name for target in targets if id(target) not in loops}
        self.printed = {"assignments"} | (set(loops.values()) - assigned)
        self.node(tree)

    def node(self, node: "nodes.Node") -> None:
        from jinja2 import nodes

        kind = type(node).__name__
        if kind not in _NODES:
            self.refuse(node, _AS_WRITTEN.get(kind, kind) + (str(node.name) if isinstance(node, nodes.Filter) else ""))
        if isinstance(node, nodes.Output):
            for part in node.nodes:
                self.output(part)
            return
        if isinstance(node, nodes.Call):  # a lone `{{ super() }}` does not come here
            self.refuse(node, "(…)")
        if isinstance(node, nodes.Getattr) and not _is_directive(node):
            self.refuse(node, f".{node.attr}")
        if isinstance(node, nodes.For):
            if not _is_directive(node.iter) or node.recursive:
                self.refuse(node, "for … in … recursive" if node.recursive else "for … in …")
        elif isinstance(node, (nodes.Include, nodes.Extends)):
            self.file_name(node.template)
        elif isinstance(node, nodes.Concat):
            # a text that a template sets could double again and again
            for part in node.nodes:
                self.file_name(part)
        elif isinstance(node, nodes.Name) and node.name in (_RESERVED - GIVEN - {"assignments"}):
            self.refuse(node, node.name)
        for child in node.iter_child_nodes():
            if not (isinstance(node, nodes.Getattr) and child is node.node):
                self.node(child)

    def output(self, part: "nodes.Node") -> None:
        """Refuse expressions that may not be written out."""
        from jinja2 import nodes

        if isinstance(part, nodes.TemplateData) or _is_directive(part) or _is_super(part):
            return
        if isinstance(part, nodes.Name) and part.name in self.printed:
            return
        raise RequestError(
            "jobs.template_output",
            "{file}:{line}: a template may print only assignments and directive.NAME",
            hint='use the shell variable instead, e.g. "$HK_NAME": values are quoted once, in the assignment block',
            file=self.file,
            line=part.lineno,
        )

    def file_name(self, part: "nodes.Node") -> None:
        """Refuse a file name unless it consists of texts and names of GIVEN."""
        from jinja2 import nodes

        if isinstance(part, nodes.Concat):
            return  # its parts are checked one by one
        if isinstance(part, nodes.Name):
            good, name = part.name in GIVEN, part.name
        else:
            good = isinstance(part, nodes.Const) and isinstance(part.value, str)
            name = f".{part.attr}" if isinstance(part, nodes.Getattr) else type(part).__name__
        if not good:
            self.refuse(part, _AS_WRITTEN.get(name, name))

    def refuse(self, node: "nodes.Node", name: str) -> None:
        """Raise RequestError with the expression."""
        line = node.lineno or next((child.lineno for child in node.iter_child_nodes() if child.lineno), 1)
        raise RequestError(
            "jobs.template_forbidden",
            "{file}:{line}: `{what}` is not allowed in a job template",
            hint="allowed: block, extends, include, if, for … in directive.NAME, set; comparisons, and, or, not, ~ "
            "and tuples of names and constants; {{{{ assignments }}}}, {{{{ directive.NAME }}}}, {{{{ super() "
            "}}}}. The rest can be done in bash, where each value is a variable ($HK_…)",
            file=self.file,
            line=line,
            what=name,
        )


def _is_directive(part: "nodes.Node") -> bool:
    from jinja2 import nodes

    return (
        isinstance(part, nodes.Getattr)
        and isinstance(part.node, nodes.Name)
        and part.node.name == "directive"
        and not part.attr.startswith("_")
    )


def _is_super(part: "nodes.Node") -> bool:
    from jinja2 import nodes

    if not isinstance(part, nodes.Call) or part.args or part.kwargs or part.dyn_args or part.dyn_kwargs:
        return False
    return isinstance(part.node, nodes.Name) and part.node.name == "super"
