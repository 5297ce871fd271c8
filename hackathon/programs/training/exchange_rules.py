"""Rules about exchanges between ranks: a scaling curve is false if ranks train separately or do other work."""

import ast
import re

from hackathon.programs.training.module import Module, keyword
from hackathon.programs.training.program import TrainingProgram

_EXCHANGES = re.compile(
    r"DistributedDataParallel|\bDDP\b|DataParallel|FSDP|FullyShard|fully_shard|DistributedOptimizer|ZeroRedundancy|DTensor"
    r"|device_mesh|DeviceMesh|parallelize_module|[Pp]ipelin|reduce|broadcast|gather|scatter|all_to_all|\bsend\b|\brecv\b"
    r"|isend|irecv|coalesc|average|\bsync|comm|allreduce|allgather|hook|\brpc\b|\bhvd\b|horovod|nccl_ops|functional_collectives"
)
"""Words of a program that exchanges data between ranks in any way: with one of them the rules are silent."""
_OTHER_EXCHANGES = re.compile(
    r"FSDP|FullyShard|fully_shard|DistributedOptimizer|ZeroRedundancy|DTensor|all_reduce|allreduce|average|reduce_scatter"
    r"|all_gather|hook|\brpc\b|\bhvd\b|horovod|setattr|getattr"
)
"""Words of a program that may average gradients without DistributedDataParallel."""
_BOOKKEEPING = frozenset(
    {
        "module", "parameters", "named_parameters", "state_dict", "load_state_dict", "train", "eval", "zero_grad",
        "buffers", "named_buffers", "device",
    }
)  # fmt: skip
"""Attributes of a wrapped model whose use passes nothing through it."""
_BATCH = re.compile(r"batch|\bbs\b|bsz", re.I)
_SIZE = re.compile(r"size|\bbs\b|bsz", re.I)
_WORLD = re.compile(r"world|n_?procs?\b|num_?proc|n_?ranks?\b|num_?ranks|num_?workers_total|get_world_size", re.I)
_PER_EPOCH = re.compile(
    r"len|size\(|dataset|samples|ceil|steps|epoch|math|batches|\bn(?:um)?_?batch"
    r"|loss|acc\b|accuracy|correct|metric|(?:\b|_)time",
    re.I,
)
"""Words of a division that computes steps or a mean over ranks, not a batch."""

_ALL = frozenset({"Exception", "BaseException", "RuntimeError"})
"""Exceptions that a failed step of one rank may raise."""
_NO_FAILURE = frozenset({"KeyboardInterrupt", "StopIteration", "SystemExit", "GeneratorExit"})
"""Exceptions by which people and iterators end a loop."""
_TELLS = re.compile(
    r"(?i)\bprint\b|log|warn|format|traceback|str|repr|exc_info|empty_cache|zero_grad|append|write|time"
)
"""Calls of a handler that only reports an exception, or cleans up after it."""

DEPTH = 2
"""Nested calls that are followed from a `try`."""


def check_exchange(program: TrainingProgram) -> None:
    """Report ranks that average nothing, that are set up as single processes, or that divide the batch."""
    if program.framework or program.strangers or not program.joins:
        return
    torch = [(module, call) for module in program.modules for call, name in module.calls
             if name.rpartition(".")[2] == "init_process_group"]  # fmt: skip
    for module, call in torch:
        alone = _is_number(keyword(call, "world_size"), 1) and not any(module.tests(call))
        if alone and not program.fallback(module, call):
            module.look.add("fixed-world", call.lineno)
    trains = program.called("backward")  # ranks that only predict need not exchange anything
    if torch and trains and not _EXCHANGES.search(program.used_text):
        module, call = torch[0]
        module.look.add("not-averaged", call.lineno)
    for module in program.modules:
        if torch and trains and not _OTHER_EXCHANGES.search(program.text):
            _around_wrapper(module)
        _divided_batch(module)
        if torch and trains:
            _swallowed(program, module)


def _is_number(node: ast.expr | None, value: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == value


def _around_wrapper(module: Module) -> None:
    """Report a wrapped model of which only the inner model is called: its gradients are not averaged.

    `torch/csrc/distributed/c10d/reducer.cpp`: gradients are awaited only after the wrapper's own forward.
    """
    wrapped = {
        target.id
        for node in module.nodes
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(target := node.targets[0], ast.Name)
        if isinstance(node.value, ast.Call)
        if module.dotted(node.value.func) == "torch.nn.parallel.DistributedDataParallel"
    }
    if len(wrapped) != 1:
        return
    (name,) = wrapped
    inner: list[ast.Call] = []
    begins = min(node.lineno for node in module.nodes if isinstance(node, ast.Assign) and _gives(node, name, module))
    for node in module.nodes:
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        holder = module.parents.get(node)
        if isinstance(holder, ast.Attribute) and holder.attr in _BOOKKEEPING:
            call = module.parents.get(holder)
            if holder.attr != "module":
                continue
            if isinstance(call, ast.Call) and call.func is holder:
                inner.append(call)
            elif not isinstance(call, ast.Attribute):
                return  # it gets another name, whose use is not followed
        elif node.lineno > begins or module.function(node) is not None:
            return
    if inner:
        module.look.add("around-wrapper", inner[0].lineno, *module.replaced(inner[0].func, name), name=name)


def _gives(node: ast.Assign, name: str, module: Module) -> bool:
    return (
        isinstance(node.value, ast.Call)
        and module.dotted(node.value.func).endswith("DistributedDataParallel")
        and (isinstance(node.targets[0], ast.Name) and node.targets[0].id == name)
    )


def _divided_batch(module: Module) -> None:
    for node in module.nodes:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv | ast.Div):
            continue
        left, right = module.words(node.left), module.words(node.right)
        if not _BATCH.search(left) or not _WORLD.search(right) or _PER_EPOCH.search(left) or _BATCH.search(right):
            continue
        whole = isinstance(node.op, ast.FloorDiv) or isinstance(module.parents.get(node), ast.Call)
        if not whole and not _SIZE.search(left):
            continue  # the mean of a tensor over the processes
        if isinstance(node.left, ast.Name | ast.Attribute | ast.Subscript):
            module.look.add("divided-batch", node.lineno, text=module.source(node) or "")


def _swallowed(program: TrainingProgram, module: Module) -> None:
    """Report a training in a `try` whose handler lets a rank go on, or succeed, without the others."""
    for node in module.nodes:
        if not isinstance(node, ast.Try):
            continue
        looped = any(isinstance(up, ast.For | ast.While) for _, up in module.above(node))
        handlers = [
            handler for handler in node.handlers if _catches(handler, everything=not looped) and not _ends(handler)
        ]
        if handlers and any(_trains(program, module, statement, DEPTH) for statement in node.body):
            module.look.add("swallowed-exception", handlers[0].lineno)


def _trains(program: TrainingProgram, module: Module, node: ast.AST, depth: int) -> bool:
    """Return whether code computes gradients, itself or in functions that it calls by name."""
    for part in ast.walk(node):
        module.spend(1)
        if not isinstance(part, ast.Call):
            continue
        name = module.dotted(part.func)
        if name.endswith(".backward"):
            return True
        if depth and isinstance(part.func, ast.Name) and any(
            _trains(program, other, function, depth - 1) for other, function in program.functions.get(part.func.id, ())
        ):  # fmt: skip
            return True
    return False


def _catches(handler: ast.ExceptHandler, *, everything: bool) -> bool:
    """Return whether a handler catches what may fail on one rank only; `everything`: it must catch all failures.

    In a loop any exception makes a rank skip a step; around a loop a named one may be the loop's normal end.
    """
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    words = ["" if name is None else ast.unparse(name).rpartition(".")[2] for name in names]
    return any(not word or word in _ALL or (not everything and word not in _NO_FAILURE) for word in words)


def _ends(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler may end the program, or calls a function that may not return."""
    for node in ast.walk(handler):
        if isinstance(node, ast.Raise | ast.Return | ast.Break):
            return True
        if isinstance(node, ast.Call):
            words = ast.unparse(node.func)
            if not _TELLS.search(words):
                return True
    return False
