"""A rule about collectives that one rank alone calls: it waits for the others without end."""

import ast
import re
from collections.abc import Iterator

from hackathon.programs.training.module import Function, Module, keyword, leaves
from hackathon.programs.training.program import TrainingProgram

_TORCH = {
    "all_reduce": 2, "broadcast": 2, "reduce": 3, "all_gather": 2, "all_gather_into_tensor": 2, "all_gather_object": 2,
    "broadcast_object_list": 2, "reduce_scatter": 3, "reduce_scatter_tensor": 3, "gather": 3, "gather_object": 3,
    "scatter": 3, "scatter_object_list": 3, "all_to_all": 2, "all_to_all_single": 4, "barrier": 0,
    "monitored_barrier": 0,
}  # fmt: skip
"""Collective → positional arguments before its group (torch.distributed 1.8 to 2.13)."""
_HOROVOD = frozenset(
    {
        "allreduce", "allreduce_", "allgather", "broadcast", "broadcast_", "broadcast_parameters",
        "broadcast_optimizer_state", "broadcast_object", "allgather_object", "alltoall", "reducescatter", "barrier",
    }
)  # fmt: skip
_RANK = re.compile(r"(?:global_|world_|local_|my_|dist_|ddp_)?rank", re.I)
_MAIN = re.compile(
    r"is_(?:main|master|chief|primary|root|rank_?(?:0|zero)|first)(?:_(?:process|rank|node|worker))?"
    r"|(?:main|master|chief|primary)_(?:process|rank)",
    re.I,
)
_RANKISH = re.compile(r"rank|main|master|chief|primary|root|leader|first|zero|worker|slave|local|node", re.I)
_ALONE = re.compile(r"world|size|n_?procs|gpus|count|distributed|initialized", re.I)
"""Words of a condition that may hold where there is one process only."""


def check_collectives(program: TrainingProgram) -> None:
    """Report a collective under a condition that one rank fulfils.

    Nothing is reported of a program in which other conditions about ranks concern a collective, or in which the other
    ranks do something of their own: they may call the matching one.
    """
    if program.framework or not program.joins:
        return
    alone: list[tuple[Module, ast.If, ast.Call]] = []
    for module in program.modules:
        blocks = [node for node in module.nodes if isinstance(node, ast.If) and _of_one_rank(module, node.test)]
        if any(_goes_apart(program, module, node) for node in blocks):
            return
        calls = [(node, call) for node in blocks for call in _collectives(program, module, node.body)]
        inside = {call for _, call in calls}
        for call, name in module.calls:
            concerned = _is_collective(call, name) or name.endswith("init_process_group")
            if concerned and call not in inside and any(_rankish(module, test) for test in module.tests(call)):
                return
        alone += [(module, node, call) for node, call in calls]
    for module, node, call in alone:
        name, condition = f"{ast.unparse(call.func)}()", module.source(node.test) or "…"
        module.look.add("one-rank-collective", call.lineno, name=name, test=condition)


def _goes_apart(program: TrainingProgram, module: Module, node: ast.If) -> bool:
    """Return whether a rank leaves the program's way here, or the others have one of their own."""
    own = any(
        isinstance(part, ast.Call) and module.dotted(part.func).rpartition(".")[2] in program.functions
        for statement in node.orelse
        for part in _inside(module, statement)
    )
    return own or leaves(node.body)


def _rankish(module: Module, test: ast.AST) -> bool:
    """Return whether a condition, or a value that a name in it was given, speaks of ranks."""
    names = [part.id for part in ast.walk(test) if isinstance(part, ast.Name)]
    values = [value for name in names for value in module.given.get(name, ())]
    return any(_RANKISH.search(module.words(part)) for part in (test, *values))


def _of_one_rank(module: Module, test: ast.expr) -> bool:
    """Return whether one rank alone fulfils a condition: `rank == 0`, `not rank`, `is_main_process()`."""
    if isinstance(test, ast.BoolOp):
        conditions = [value for value in test.values if not _of_one_rank(module, value)]
        return (
            isinstance(test.op, ast.And)
            and len(conditions) < len(test.values)
            and not any(_ALONE.search(module.words(value)) for value in conditions)
        )
    if isinstance(test, ast.Compare):
        sides = (test.left, *test.comparators)
        return (
            len(sides) == 2
            and isinstance(test.ops[0], ast.Eq)
            and any(isinstance(side, ast.Constant) and _is_number(side.value) for side in sides)
            and any(_is_rank(module, side) for side in sides)
        )
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) and _is_rank(module, test.operand)
    name = module.dotted(test.func if isinstance(test, ast.Call) else test).rpartition(".")[2]
    return _MAIN.fullmatch(name) is not None and (not isinstance(test, ast.Call) or not test.args)


def _is_number(value: object) -> bool:
    return (type(value) is int and value >= 0) or (isinstance(value, str) and value.isdecimal())


def _is_rank(module: Module, value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        name = module.dotted(value.func)
        package, _, last = name.rpartition(".")
        if name in ("int", "os.getenv", "os.environ.get"):
            return _in_environment(module, value)
        return (last in ("get_rank", "get_local_rank") and not value.args) or (
            package.startswith("horovod.") and last in ("rank", "local_rank")
        )
    if isinstance(value, ast.Subscript):
        return _in_environment(module, value)
    return _RANK.fullmatch(module.dotted(value).rpartition(".")[2]) is not None


def _in_environment(module: Module, value: ast.expr) -> bool:
    words = set(module.words(value).split())
    return bool({"RANK", "LOCAL_RANK"} & words) and bool({"environ", "getenv"} & words)


def _collectives(
    program: TrainingProgram, module: Module, body: list[ast.stmt], *, deeper: bool = True
) -> Iterator[ast.Call]:
    """Yield the calls of collectives of all ranks in a block, also of a function with one that is called only here."""
    for statement in body:
        for node in _inside(module, statement) if not isinstance(statement, Function) else ():
            if not isinstance(node, ast.Call):
                continue
            name = module.dotted(node.func)
            last = name.rpartition(".")[2]
            if _is_collective(node, name):
                yield node
            elif deeper and len(program.callers.get(last, ())) == 1:
                functions = program.functions.get(last, [])
                if len(functions) == 1 and _is_for_all(program, *functions[0]):
                    yield node


def _is_for_all(program: TrainingProgram, module: Module, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function calls a collective in whichever rank calls it."""
    conditions = [node for node in _inside(module, function) if isinstance(node, ast.If)]
    if any(_RANKISH.search(module.words(node.test)) or leaves(node.body) for node in conditions):
        return False
    return any(_collectives(program, module, function.body, deeper=False))


def _inside(module: Module, node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes in a statement or function, but not those of functions within it."""
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        module.spend(1)
        yield part
        waiting += [child for child in ast.iter_child_nodes(part) if not isinstance(child, Function)]


def _is_collective(call: ast.Call, name: str) -> bool:
    """Return whether a call is a collective of all ranks, and no group or unknown argument is passed to it."""
    package, _, last = name.rpartition(".")
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        argument.arg is None for argument in call.keywords
    ):
        return False
    if package.startswith("horovod."):
        return last in _HOROVOD and keyword(call, "process_set") is None
    group = keyword(call, "group")
    return (
        package in ("torch.distributed", "torch.distributed.distributed_c10d")
        and last in _TORCH
        and (group is None or (isinstance(group, ast.Constant) and group.value is None))
        and len(call.args) <= _TORCH[last]
    )
