"""A complete program for the rules: its files, and the packages it trains with."""

import ast
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hackathon.programs.training.module import Module, only_started
from hackathon.programs.training.rules import FileLook
from hackathon.runs.source.program_text import AIDS, LONE_PACKAGES, ProgramFile, imports, is_runtime, program_files
from hackathon.schedulers.foreign import TASK_VARIABLES

FRAMEWORKS = frozenset(
    {
        "accelerate", "transformers", "lightning", "pytorch_lightning", "lightning_fabric", "deepspeed", "ray",
        "composer", "fastai", "ignite", "catalyst", "mmengine", "mmcv", "colossalai", "megatron", "trl", "detectron2",
        "fairseq", "fairscale", "bagua", "parallelformers", "torchtitan", "torchtune", "webdataset", "nvidia",
        "ffcv", "torchdata",
    }
)  # fmt: skip
"""Packages that divide data, choose devices or save by themselves: the rules about these are silent then."""
HARMLESS = LONE_PACKAGES | AIDS | {"horovod", "mpi4py", "hydra", "torch_optimizer", "apex"}
"""Packages that do not."""
DEPTH = 3
"""Nested calls that are followed from a line to its conditions."""
_ASKS = re.compile("|".join(("environ|getenv|launch|elastic|torchrun|spawn|RANK|OMPI", *TASK_VARIABLES)))
"""Words of a test that depends on how the program was started."""
_NUMBER = re.compile(r"world|size|n_?procs|gpus|count", re.I)
"""Names of the number of ranks, which such a test does not concern."""


@dataclass(frozen=True)
class TrainingProgram:
    """The parsable files of a program, with further facts about it."""

    folder: Path
    modules: tuple[Module, ...]
    strangers: frozenset[str]
    """Packages and files with unknown behaviour."""
    broken: tuple[FileLook, ...]
    """Files that cannot be parsed, with a finding."""

    @classmethod
    def read(cls, folder: Path, entries: tuple[str, ...]) -> "TrainingProgram":
        """Read the started files and their own modules."""
        modules, broken, strangers = [], [], set()
        for file in program_files(folder, *entries):
            if is_runtime(file.name):
                continue
            module = _module(file, started=file.name in entries)
            if not isinstance(module, Module) or not file.whole:
                strangers.add(file.name)
            if isinstance(module, FileLook):
                broken.append(module)
                continue
            modules.append(module)
            roots = {name.partition(".")[0] for own, name in imports(folder, file) if not own}
            strangers |= roots - HARMLESS - sys.stdlib_module_names
        return cls(folder, tuple(modules), frozenset(strangers), tuple(broken))

    @cached_property
    def text(self) -> str:
        """All of it."""
        return "\n".join("\n".join(module.look.lines) for module in self.modules)

    @cached_property
    def used_text(self) -> str:
        """All of it without imports, but with the full names of the used ones."""
        return "\n".join(module.used_text for module in self.modules)

    def called(self, *names: str) -> bool:
        """Return whether a function is called; `names` are ends of dotted names."""
        return any(name.endswith(names) for module in self.modules for _, name in module.calls if name)

    @cached_property
    def joins(self) -> bool:
        """Whether it joins a group of ranks itself."""
        return self.called("init_process_group", "hvd.init", "horovod.torch.init", "horovod.keras.init") or any(
            name.startswith("horovod.") and name.endswith(".init") for m in self.modules for _, name in m.calls
        )

    @cached_property
    def wraps(self) -> bool:
        """Whether it averages gradients between ranks itself."""
        return self.joins and self.called("DistributedDataParallel", "DDP", "DistributedOptimizer")

    @property
    def framework(self) -> bool:
        """Whether a framework does a part of it."""
        return bool(self.strangers & FRAMEWORKS)

    @cached_property
    def functions(self) -> dict[str, list[tuple[Module, ast.FunctionDef | ast.AsyncFunctionDef]]]:
        """Name → the functions of that name."""
        functions: dict[str, list[tuple[Module, ast.FunctionDef | ast.AsyncFunctionDef]]] = {}
        for module in self.modules:
            for node in module.nodes:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    functions.setdefault(node.name, []).append((module, node))
        return functions

    @cached_property
    def callers(self) -> dict[str, list[tuple[Module, ast.Call]]]:
        """Name → the calls of a function or method of that name."""
        callers: dict[str, list[tuple[Module, ast.Call]]] = {}
        for module in self.modules:
            for call, dotted in module.calls:
                callers.setdefault(dotted.rpartition(".")[2], []).append((module, call))
        return callers

    def fallback(self, module: Module, node: ast.AST, depth: int = DEPTH) -> bool:
        """Return whether a line is reached only after a test of how the program was started, or after a failure.

        Such a line may be for a start without a launcher. All calls of its function must be of this kind.
        """
        module.spend(1)
        if any(self._asks(module, test) for test in module.tests(node)):
            return True
        if any(isinstance(up, ast.ExceptHandler) for _, up in module.above(node)):
            return True
        function = module.function(node)
        if not depth or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        if (function, depth) not in self._known:
            uses = ((m, use) for m, use in self.uses.get(function.name, ()) if m.function(use) is not function)
            judged = (self.fallback(m, use, depth - 1) for m, use in uses)
            self._known[function, depth] = next(judged, False) and all(judged)
        return self._known[function, depth]

    @cached_property
    def _known(self) -> dict[tuple[ast.AST, int], bool]:
        """Function and depth → whether all calls of it are such fallbacks."""
        return {}

    def _asks(self, module: Module, test: ast.AST) -> bool:
        words = module.words(test)
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.NotEq) and "rank" in words.lower():
            other = test.comparators[0]
            if isinstance(other, ast.Constant) and other.value in (0, "0"):
                return False  # every launcher starts such a rank
        return bool(_ASKS.search(words)) or any(
            _ASKS.search(module.words(value))
            for name in words.split() if not _NUMBER.search(name)
            for value in module.given.get(name, ())
        )  # fmt: skip

    @cached_property
    def uses(self) -> dict[str, list[tuple[Module, ast.AST]]]:
        """Name → calls of a function or method of that name, and uses as an argument."""
        uses: dict[str, list[tuple[Module, ast.AST]]] = {}
        for module in self.modules:
            for node in module.nodes:
                if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                    uses.setdefault(node.id if isinstance(node, ast.Name) else node.attr, []).append((module, node))
        return uses


def _module(file: ProgramFile, *, started: bool) -> "Module | FileLook":
    tree = file.parsed
    if isinstance(tree, ast.Module) and file.whole:
        if not started:
            tree = ast.Module([statement for statement in tree.body if not only_started(statement)], tree.type_ignores)
        return Module(file, tree)
    look = FileLook(file.name, "python", file.lines)
    line, reason = (1, "") if isinstance(tree, ast.Module) else tree
    if file.whole:
        look.add("unreadable", line, reason=reason)
    return look
