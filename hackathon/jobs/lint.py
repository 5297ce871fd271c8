"""A lint over job templates, also over a team's own: values reach bash only through the assignment block.

A template may write out `{{ assignments }}` (quoted by Python), `{{ directive.NAME }}` (checked against the profile's
patterns before rendering), loop variables over `directive.…`, and `{{ super() }}`. Everything else that would put a
value into the script's text is refused, because one unquoted `{{ note }}` is enough for `$(rm -rf ~)` to run.
"""

from typing import TYPE_CHECKING

from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from jinja2 import Environment, nodes


class TemplateError(RequestError):
    """A template that can not be used: file, line and the reason."""


def lint(environment: "Environment", name: str, text: str, file: str) -> None:
    """Check one template's text; raises TemplateError at the first output expression that is not allowed."""
    from jinja2 import TemplateSyntaxError, nodes

    try:
        tree = environment.parse(text, name, file)
    except TemplateSyntaxError as error:
        raise TemplateError("jobs.template_syntax", file=file, line=error.lineno, what=error.message) from None
    loops = {
        target.name
        for loop in tree.find_all(nodes.For)
        if _is_directive(loop.iter) and isinstance(target := loop.target, nodes.Name)
    }
    assigned = {
        name.name
        for kind in (nodes.Assign, nodes.AssignBlock)
        for node in tree.find_all(kind)
        for name in _targets(node)
    }
    for output in tree.find_all(nodes.Output):
        for part in output.nodes:
            if not _allowed(part, loops - assigned):
                raise TemplateError("jobs.template_output", file=file, line=part.lineno)
    forbidden = (nodes.CallBlock, nodes.FilterBlock, nodes.Import, nodes.FromImport, nodes.Macro)
    for node in tree.find_all(forbidden):
        raise TemplateError("jobs.template_output", file=file, line=node.lineno)
    for assigned_name in ("assignments", "directive", "super"):
        if assigned_name in assigned | _loop_names(tree) | _with_names(tree):
            raise TemplateError("jobs.template_rebinds", file=file, line=1, name=assigned_name)


def _allowed(part: "nodes.Expr", loops: set[str]) -> bool:
    from jinja2 import nodes

    if isinstance(part, nodes.TemplateData):
        return True
    if isinstance(part, nodes.Name):
        return part.name == "assignments" or part.name in loops
    if isinstance(part, nodes.Call):
        return isinstance(part.node, nodes.Name) and part.node.name == "super" and not part.args and not part.kwargs
    return _is_directive(part)


def _is_directive(part: "nodes.Node") -> bool:
    from jinja2 import nodes

    return isinstance(part, nodes.Getattr) and isinstance(part.node, nodes.Name) and part.node.name == "directive"


def _targets(node: "nodes.Node") -> list["nodes.Name"]:
    from jinja2 import nodes

    target = getattr(node, "target", None)
    if isinstance(target, nodes.Name):
        return [target]
    return list(target.find_all(nodes.Name)) if isinstance(target, nodes.Node) else []


def _loop_names(tree: "nodes.Template") -> set[str]:
    from jinja2 import nodes

    return {name.name for loop in tree.find_all(nodes.For) for name in _targets(loop)}


def _with_names(tree: "nodes.Template") -> set[str]:
    from jinja2 import nodes

    return {
        target.name for block in tree.find_all(nodes.With) for target in block.targets if isinstance(target, nodes.Name)
    }
