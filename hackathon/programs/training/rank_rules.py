"""Rules about ranks: who starts them, where they meet, and which GPU each one uses."""

import ast
import re
from typing import TYPE_CHECKING

from hackathon.programs.training.module import Module, keyword, text_value
from hackathon.programs.training.program import TrainingProgram
from hackathon.programs.training.situation import TrainingSituation

if TYPE_CHECKING:
    from hackathon.schedulers.scripts import Severity

_OWN = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK")
_HERE = re.compile(r"tcp://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):?\d*/?")
_COUNTS = re.compile(r"[\s\w]*(?:device_count|world_size|n_?gpus?|num_gpus|nprocs|is_available)[\s\w]*")
_AWARE = re.compile(r"local_?rank|device_count|CUDA_VISIBLE_DEVICES", re.I)
DEPTH = 3
"""Nested calls that are followed from a function that starts in each rank."""


def check_ranks(program: TrainingProgram, situation: TrainingSituation) -> None:
    """Report ranks that the program starts, addresses that it sets, and GPUs that it chooses."""
    if not program.joins:
        return
    for module in program.modules:
        _spawns(program, module)
        _addresses(program, module, situation)
        _devices(module)
        if not program.framework and situation.per_node != 1:
            if not situation.own_gpus and not _AWARE.search(program.text):
                _one_gpu(module, situation)
            _global_rank(module, situation)


def _spawns(program: TrainingProgram, module: Module) -> None:
    for call, name in module.calls:
        spawn = name in ("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes") or name.endswith(
            ".multiprocessing.spawn.spawn"
        )
        process = name in ("torch.multiprocessing.Process", "multiprocessing.Process") or (
            name.endswith(".Process") and ("multiprocessing" in program.text)
        )
        if not spawn and not process:
            continue
        target = (call.args[0] if call.args else keyword(call, "fn")) if spawn else keyword(call, "target")
        if not _joins(program, module.dotted(target).rpartition(".")[2], DEPTH):
            continue
        counted = all(_COUNTS.fullmatch(module.words(test)) for test in module.tests(call))
        if counted and not module.tried(call) and not program.fallback(module, call):
            module.look.add("starts-own-ranks", call.lineno, function=name.rpartition("torch.")[2] or name)


def _joins(program: TrainingProgram, function: str, depth: int) -> bool:
    """Return whether a function joins a process group, itself or in its calls."""
    for module, node in program.functions.get(function, ()):
        for call in ast.walk(node):
            module.spend(1)
            if not isinstance(call, ast.Call):
                continue
            name = module.dotted(call.func).rpartition(".")[2]
            if name == "init_process_group" or (depth and name != function and _joins(program, name, depth - 1)):
                return True
    return False


def _addresses(program: TrainingProgram, module: Module, situation: TrainingSituation) -> None:
    for node in module.nodes:
        name, value = _environment(module, node)
        if name not in _OWN or not isinstance(value, ast.Constant) or not isinstance(node, ast.Assign):
            continue
        if any(module.tests(node)) or module.tried(node) or len(node.targets) != 1 or program.fallback(module, node):
            continue
        target = node.targets[0]
        assert isinstance(target, ast.Subscript)
        better = f'{module.source(target.value)}.setdefault("{name}", {module.source(value)})'
        severity: Severity | None = "warning" if situation.meets(name) else None
        edits = module.replaced(node, better)
        module.look.add("own-address", node.lineno, *edits, severity=severity, name=name, value=str(value.value))
    for call, dotted in module.calls:
        if not dotted.endswith("init_process_group"):
            continue
        method = keyword(call, "init_method") or (call.args[1] if len(call.args) > 1 else None)
        text = text_value(method)
        if method is None or text is None or not _HERE.fullmatch(text) or any(module.tests(call)):
            continue
        if not program.fallback(module, call):
            edits = module.replaced(method, '"env://"')
            harmless = situation.nodes == 1 and situation.launcher not in (None, "torchrun")
            severity = "warning" if harmless else None
            module.look.add("own-address", method.lineno, *edits, severity=severity, name="init_method", value=text)


def _devices(module: Module) -> None:
    for node in module.nodes:
        name, value = _environment(module, node)
        text = text_value(value)
        if name != "CUDA_VISIBLE_DEVICES" or not isinstance(node, ast.Assign) or not text or text == "-1":
            continue
        if not any(module.tests(node)) and not module.tried(node):
            module.look.add("devices-in-program", node.lineno, value=text)


def _environment(module: Module, node: ast.AST) -> tuple[str | None, ast.expr | None]:
    """Return (variable, value) of `os.environ[variable] = value`."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
        target = node.targets[0]
        if module.dotted(target.value) == "os.environ":
            return text_value(target.slice), node.value
    return None, None


def _one_gpu(module: Module, situation: TrainingSituation) -> None:
    """Report ranks that all compute on the first GPU: the program has no local rank."""
    for call, name in module.calls:
        last = name.rpartition(".")[2]
        if last not in ("device", "to", "cuda", "set_device") or not call.args:
            continue
        if any(_rankish(module, test) for test in module.tests(call)):
            continue
        local = "int(os.environ['LOCAL_RANK'])"
        for value in _choices(call.args[0]):
            text = text_value(value)
            number = isinstance(value, ast.Constant) and type(value.value) is int and value.value == 0
            if last in ("device", "to") and text == "cuda:0" and (last == "to" or name == "torch.device"):
                better = f'f"cuda:{{{local}}}"'
            elif (last == "cuda" and (number or text == "cuda:0")) or (name == "torch.cuda.set_device" and number):
                better = local.replace("'", '"')
            else:
                continue
            edits = module.replaced(value, better) if module.has_os else ()
            severity: Severity | None = "warning" if situation.gpus is False else None
            module.look.add("one-gpu", value.lineno, *edits, severity=severity, text=module.source(value) or "cuda:0")


def _choices(value: ast.expr) -> list[ast.expr]:
    """Return the possible values of `a if test else b`."""
    return [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]


def _global_rank(module: Module, situation: TrainingSituation) -> None:
    """Report a rank that takes the GPU with its number in the whole job, which the second node does not have."""
    if situation.nodes == 1:
        return
    for call, name in module.calls:
        last = name.rpartition(".")[2]
        if last not in ("set_device", "cuda", "to") or (last == "set_device" and name != "torch.cuda.set_device"):
            continue
        if not call.args or not _whole_rank(module, call.args[0], call) or any(module.tests(call)):
            continue
        value = call.args[0]
        edits = module.replaced(value, 'int(os.environ["LOCAL_RANK"])') if module.has_os else ()
        severity: Severity = "error" if (situation.nodes or 1) > 1 else "warning"
        module.look.add("global-rank-as-gpu", value.lineno, *edits, severity=severity, text=module.source(value))


def _whole_rank(module: Module, value: ast.expr | None, use: ast.AST) -> bool:
    """Return whether a value is the rank in the whole job, wherever it is set."""
    if isinstance(value, ast.Name):
        values = module.assigned(value.id)
        return bool(values) and all(
            source is not None and not isinstance(source, ast.Name) and _whole_rank(module, source, use)
            for source in values
        )
    if isinstance(value, ast.Call):
        name = module.dotted(value.func)
        if name in ("torch.distributed.get_rank", "horovod.torch.rank"):
            return True
        if name == "int" and len(value.args) == 1:
            inner = value.args[0]
            if isinstance(inner, ast.Subscript) and module.dotted(inner.value) == "os.environ":
                return text_value(inner.slice) == "RANK"
            if isinstance(inner, ast.Call) and module.dotted(inner.func) in ("os.environ.get", "os.getenv"):
                return bool(inner.args) and text_value(inner.args[0]) == "RANK"
    return False


def _rankish(module: Module, test: ast.AST) -> bool:
    return "rank" in module.words(test).lower()
