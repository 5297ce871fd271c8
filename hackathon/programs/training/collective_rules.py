"""A rule about collectives that one rank alone calls: it waits for the others without end."""

import ast
import re
from collections.abc import Iterator

from hackathon.programs.training.module import Function, Module, keyword
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
_MAIN = re.compile(r"(?:is_)?(?:main|master|chief|primary|root|rank_?(?:0|zero))(?:_process|_rank|_node)?", re.I)
_RANKISH = re.compile(r"rank|main|master|chief|primary|root|leader|is_first|zero", re.I)


def check_collectives(program: TrainingProgram) -> None:
    """Report a collective under a condition that one rank fulfils, and none under the opposite one."""
    if program.framework or not program.joins:
        return
    for module in program.modules:
        groups: dict[ast.AST | None, list[ast.If]] = {}
        for node in module.nodes:
            if isinstance(node, ast.If):
                groups.setdefault(module.function(node), []).append(node)
        for conditions in groups.values():
            alone = [node for node in conditions if _of_one_rank(module, node.test)]
            if not alone or any(_answers(program, module, node, node in alone) for node in conditions):
                continue
            for node in alone:
                for call in _collectives(program, module, node.body):
                    name, test = f"{ast.unparse(call.func)}()", module.source(node.test) or "…"
                    module.look.add("one-rank-collective", call.lineno, name=name, test=test)


def _answers(program: TrainingProgram, module: Module, node: ast.If, alone: bool) -> bool:
    """Return whether other ranks may call a collective because of a condition about ranks."""
    if alone:
        return any(_collectives(program, module, node.orelse)) or _leaves(node.body)
    return bool(_RANKISH.search(module.words(node.test))) and (
        any(_collectives(program, module, [*node.body, *node.orelse])) or _leaves(node.body)
    )


def _leaves(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return | ast.Continue | ast.Break | ast.Raise)


def _of_one_rank(module: Module, test: ast.expr) -> bool:
    """Return whether one rank alone fulfils a condition: `rank == 0`, `not rank`, `is_main_process()`."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(_of_one_rank(module, value) for value in test.values)
    if isinstance(test, ast.Compare):
        sides = (test.left, *test.comparators)
        return (
            len(sides) == 2
            and isinstance(test.ops[0], ast.Eq)
            and any(isinstance(side, ast.Constant) and type(side.value) is int and side.value >= 0 for side in sides)
            and any(_is_rank(module, side) for side in sides)
        )
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) and _is_rank(module, test.operand)
    name = module.dotted(test.func if isinstance(test, ast.Call) else test).rpartition(".")[2]
    return _MAIN.fullmatch(name) is not None and (not isinstance(test, ast.Call) or not test.args)


def _is_rank(module: Module, value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        name = module.dotted(value.func)
        if name == "int" and len(value.args) == 1:
            return {"RANK", "LOCAL_RANK"} & set(module.words(value).split()) != set()
        return name in ("torch.distributed.get_rank", "horovod.torch.rank", "horovod.torch.local_rank") or (
            name.rpartition(".")[2] in ("get_rank", "get_local_rank") and not value.args
        )
    return _RANK.fullmatch(module.dotted(value).rpartition(".")[2]) is not None


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
    if any(_RANKISH.search(module.words(node.test)) or _leaves(node.body) for node in conditions):
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
    package, _, last = name.rpartition(".")
    if package.startswith("horovod."):
        return last in _HOROVOD and keyword(call, "process_set") is None
    return (
        package in ("torch.distributed", "torch.distributed.distributed_c10d")
        and last in _TORCH
        and keyword(call, "group") is None
        and len(call.args) <= _TORCH[last]
    )
