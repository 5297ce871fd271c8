"""Whether the processes of a program join each other already: by itself, in a module of its own, or by a library."""

import re

import libcst as cst

from hackathon.programs.port.names import Imports, dotted
from hackathon.programs.port.source import SingleGpuProgram
from hackathon.programs.training.joining_rules import GROUPS

_DISTRIBUTED = {
    "torch.distributed.init_process_group": "PyTorch", "torch.nn.parallel.DistributedDataParallel": "PyTorch",
    "torch.distributed.fsdp.FullyShardedDataParallel": "PyTorch", "torch.distributed.fsdp.fully_shard": "PyTorch",
    "torch.distributed.device_mesh.init_device_mesh": "PyTorch", "torch.distributed.init_device_mesh": "PyTorch",
    "horovod.torch.init": "Horovod", "horovod.tensorflow.init": "Horovod", "horovod.tensorflow.keras.init": "Horovod",
    "horovod.keras.init": "Horovod", "chainermn.create_communicator": "ChainerMN",
    "tensorflow.distribute.MultiWorkerMirroredStrategy": "TensorFlow", "deepspeed.initialize": "DeepSpeed",
    "tensorflow.distribute.experimental.MultiWorkerMirroredStrategy": "TensorFlow",
}  # fmt: skip
"""Calls that show that the program handles several processes."""
_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel")
_JOINING = re.compile(
    r"(?:set_?up|init|initiali[sz]e|launch|start|enable)_\w*?(?:dist(?:ributed)?|ddp|process_group)(?![a-z])\w*"
    r"|(?:dist|ddp|distributed)_(?:init|set_?up|launch)\w*",
    re.I,
)
"""Functions of libraries that join the processes."""
_PACKAGES = {
    "chainermn": "ChainerMN", "horovod": "Horovod", "mpi4py": "MPI", "dgl.distributed": "DGL",
    "torch_xla.distributed": "XLA", "ray.train": "Ray",
}  # fmt: skip
"""Packages that a program imports only to join processes."""
_LIBRARIES = frozenset(
    {
        "deepspeed", "composer", "fastai", "ignite", "catalyst", "mmengine", "mmcv", "colossalai", "megatron",
        "detectron2", "fairseq", "fairscale", "speechbrain", "espnet", "espnet2", "nemo", "torchtune", "torchtitan",
    }
)  # fmt: skip
"""Packages that distribute what goes through them, in ways of their own."""


def joined_by(program: SingleGpuProgram, imports: Imports) -> tuple[cst.Call | None, str] | None:
    """Return the call that joins the processes and the framework; None if the program joins none."""
    own = _own_names(program)
    for call in program.everywhere(cst.Call):
        full = imports.full(call.func).replace("tf.", "tensorflow.", 1)
        last = (full or _attribute(call)).rpartition(".")[2]
        home = program.home(call)
        framework = _DISTRIBUTED.get(full)
        if framework is None and (last in GROUPS or last in _WRAPPERS):
            framework = "PyTorch"
        if framework is None and _JOINING.fullmatch(last) and last not in own and "." in full:
            framework = full
        if framework is not None and (home is program or _used(program, call)):
            return call, framework
    if program.joined_in:
        return None, program.joined_in
    return next(((None, name) for package, name in _PACKAGES.items() if imports.uses(package)), None)


def other_library(program: SingleGpuProgram, imports: Imports) -> tuple[cst.CSTNode, str] | None:
    """Return the first import of a package that distributes in a way of its own, and its name."""
    for node in program.everywhere(cst.ImportAlias):
        statement = program.parents.get(node)
        name = dotted(node.name) or ""
        if isinstance(statement, cst.ImportFrom):
            name = dotted(statement.module) or "" if statement.module is not None and not statement.relative else ""
        package = name.partition(".")[0]
        if package in _LIBRARIES and program.home(node) is program:
            return node, package
    return None


def _own_names(program: SingleGpuProgram) -> set[str]:
    return {function.name.value for function in program.everywhere(cst.FunctionDef)}


def _attribute(call: cst.Call) -> str:
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def _used(program: SingleGpuProgram, call: cst.Call) -> bool:
    """Return whether the functions around a call in another file are named anywhere: called, or handed on."""
    around = [node for node in program.above(call) if isinstance(node, cst.FunctionDef | cst.ClassDef)]
    if not around:
        return True
    name = around[-1].name
    return any(
        node.value == name.value and node is not name and not _imported(program, node)
        for node in program.everywhere(cst.Name)
    )


def _imported(program: SingleGpuProgram, node: cst.Name) -> bool:
    return any(isinstance(above, cst.ImportAlias) for above in (program.parents.get(node),))
