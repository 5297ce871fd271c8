"""Whether the results of a call are used without their gradients alone, as the actions of an agent are."""

import libcst as cst

from hackathon.programs.port.functions import Functions

_DETACHES = frozenset({"detach", "numpy", "item", "tolist"})
"""Methods of tensors whose result has no gradients."""


def only_detached(functions: Functions, call: cst.CSTNode) -> bool:
    """Return whether nothing of the program can use gradients of a call: `agent.act(x).cpu().numpy()`.

    The names that the call's result gets are followed in the function around it.
    """
    program = functions.program
    if _detaches(functions, call):
        return True
    statement = program.parents.get(call)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0].target
    names = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]
    scope = functions.scope(call)
    body = scope if scope is not None else program.module
    return all(isinstance(name, cst.Name) and _loses(functions, name, body, program.line(call)) for name in names)


def _loses(functions: Functions, name: cst.Name, body: cst.CSTNode, first: int) -> bool:
    """Return whether a name that is bound in the line `first` loses its gradients before anything else uses it."""
    program = functions.program
    uses = [
        node
        for node in program.walk(body)
        if isinstance(node, cst.Name) and node.value == name.value and _is_read(functions, node)
    ]
    detached = [node for node in uses if _detaches(functions, node)]
    again = (program.line(node) for node in detached if _rebinds(functions, node))
    last = min((line for line in again if line > first), default=None)
    others = [program.line(node) for node in uses if node not in detached]
    return not any(line > first and (last is None or line < last) for line in others)


def _is_read(functions: Functions, node: cst.Name) -> bool:
    parent = functions.program.parents.get(node)
    if isinstance(parent, cst.Attribute):
        return parent.value is node
    if isinstance(parent, cst.Element):
        parent = functions.program.parents.get(functions.program.parents[parent])
    return not isinstance(parent, cst.AssignTarget) and not (isinstance(parent, cst.Arg) and parent.keyword is node)


def _rebinds(functions: Functions, node: cst.Name) -> bool:
    """Return whether a name is in the value that is assigned to the same name."""
    around = functions.program.above(node)
    statement = next((above for above in around if isinstance(above, cst.Assign)), None)
    targets = [target.target for target in statement.targets] if statement is not None else []
    return any(isinstance(target, cst.Name) and target.value == node.value for target in targets)


def _detaches(functions: Functions, node: cst.CSTNode) -> bool:
    """Return whether a value is used by a chain of methods, one of which gives it without gradients."""
    parent = functions.program.parents.get(node)
    while (isinstance(parent, cst.Attribute) and parent.value is node) or (
        isinstance(parent, cst.Call) and parent.func is node
    ):
        if isinstance(parent, cst.Attribute) and parent.attr.value in _DETACHES:
            return True
        node, parent = parent, functions.program.parents.get(parent)
    return False
