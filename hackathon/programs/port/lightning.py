"""PyTorch Lightning: the library distributes, but needs the number of processes of the job."""

from typing import Literal

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions
from hackathon.programs.port.head import Head
from hackathon.programs.port.names import argument, dotted, method
from hackathon.programs.port.output import Output
from hackathon.programs.port.torch_steps import seeded
from hackathon.text.messages import Message

_PACKAGES = ("lightning", "pytorch_lightning", "lightning_fabric")
_CHECKS = (
    "validation_step", "test_step", "on_validation_epoch_end", "on_test_epoch_end", "on_validation_batch_end",
    "on_test_batch_end", "on_validation_end", "on_test_end",
)  # fmt: skip
_OUTPUT = Output()


def port_lightning(edits: Edits, functions: Functions) -> Literal["ported", "distributed"]:
    """Give each Trainer the processes of the job, and average each logged validation value."""
    trainers = [call for call in functions.calls if makes_trainer(functions, call)]
    for trainer in trainers:
        if _distributed(edits, trainer):
            edits.note(
                trainer,
                Message("port.distributed", "this program is distributed already ({framework})"),
                framework="Lightning",
            )
            return "distributed"
    head = Head(edits, functions)
    for trainer in functions.calls:
        if functions.imports.full(trainer.func).endswith("Trainer.from_argparse_args"):
            edits.ask(
                trainer,
                Message(
                    "port.ask_library_options",
                    "are devices, num_nodes and strategy among these options? They should be what the job has.",
                ),
            )
        if functions.imports.full(trainer.func).endswith(".LightningCLI"):
            edits.ask(
                trainer,
                Message(
                    "port.ask_library_cli",
                    "LightningCLI takes its Trainer from options: does the command give --trainer.devices, "
                    "--trainer.num_nodes and --trainer.strategy ddp as the job has them?",
                ),
            )
    for trainer in trainers:
        _trainer(edits, trainer, head)
    _logged(edits, functions)
    _data(edits, functions)
    head.first_of_ranks(_OUTPUT)
    start = head.put()
    if start is not None:
        edits.done(
            start,
            Message(
                "port.do_launcher",
                "the program reads from its launcher how many processes there are; without a launcher there is one",
            ),
        )
    return "ported"


def makes_trainer(functions: Functions, call: cst.Call) -> bool:
    """Return whether a call makes a Trainer or a Fabric, however it is imported; also a subclass of this file."""
    full = functions.imports.full(call.func)
    owner = functions.classes.get(full)
    if owner is not None:
        return any(_is_trainer(functions.imports.full(base.value)) for base in owner.bases)
    return _is_trainer(full)


def _is_trainer(full: str) -> bool:
    return full.partition(".")[0] in _PACKAGES and full.rpartition(".")[2] in ("Trainer", "Fabric")


def _distributed(edits: Edits, call: cst.Call) -> bool:
    """Return whether a Trainer is configured for several processes already."""
    devices = argument(call, "devices")
    spread = argument(call, "strategy") is not None or argument(call, "num_nodes") is not None
    return devices is not None and spread and _kind(edits, devices.value) == "other"


def _kind(edits: Edits, value: cst.BaseExpression) -> Literal["one", "all", "fixed", "other"]:
    """Return which devices a value means: the first one, all of this machine, a fixed choice, or other."""
    text = edits.program.text(value).strip("'\"").replace(" ", "")
    if text in ("1", "[0]"):
        return "one"
    if text in ("auto", "-1", "None"):
        return "all"
    # `devices=4, strategy="ddp"` is a distributed program; `devices=[2]` is one GPU, not the job's
    return "fixed" if isinstance(value, cst.List) else "other"


def _trainer(edits: Edits, call: cst.Call, head: Head) -> None:
    if any(arg.star for arg in call.args):
        edits.ask(
            call,
            Message(
                "port.ask_library_options",
                "are devices, num_nodes and strategy among these options? They should be what the job has.",
            ),
        )
        return
    for name in ("gpus", "tpu_cores", "num_processes", "auto_select_gpus"):
        if (old := argument(call, name)) is not None:
            edits.ask(
                call,
                Message("port.ask_library_devices", "`{argument}`: should it be what the job has?"),
                argument=edits.program.text(old).rstrip(", "),
            )
            return
    devices, nodes, strategy = (argument(call, name) for name in ("devices", "num_nodes", "strategy"))
    kind = _kind(edits, devices.value) if devices is not None else "all"
    if kind in ("fixed", "other"):
        assert devices is not None
        edits.ask(
            call,
            Message("port.ask_library_devices", "`{argument}`: should it be what the job has?"),
            argument=edits.program.text(devices).rstrip(", "),
        )
        return
    if nodes is not None and edits.program.text(nodes.value) != "1":
        edits.ask(
            call,
            Message("port.ask_library_devices", "`{argument}`: should it be what the job has?"),
            argument=edits.program.text(nodes).rstrip(", "),
        )
        return
    chosen = edits.program.text(strategy.value).strip("'\"") if strategy is not None else "auto"
    if chosen in ("dp", "ddp_spawn", "ddp_notebook", "ddp_fork") or (kind == "one" and chosen not in ("auto", "None")):
        edits.ask(
            call,
            Message("port.ask_library_devices", "`{argument}`: should it be what the job has?"),
            argument=f"strategy={chosen}",
        )
        return
    world, local = head.of_launcher("WORLD_SIZE"), head.of_launcher("LOCAL_WORLD_SIZE")
    values = {
        "devices": local if kind == "one" else f'{local} if {world} > 1 else "auto"',
        "num_nodes": f"{world} // {local}",
    }
    if chosen in ("auto", "None"):
        values["strategy"] = f'"ddp" if {world} > 1 else "auto"'
    for name, value in values.items():
        edits.put_argument(call, name, value)
    edits.done(
        call,
        Message("port.do_trainer", "Trainer uses the processes of the job, and one device without a launcher"),
        ", ".join(f"{name}={value}" for name, value in values.items()),
    )


def _logged(edits: Edits, functions: Functions) -> None:
    """Average the logged values of validation and test; metrics of torchmetrics do that by themselves."""
    waiting = [
        function
        for function in functions.all
        if function.name.value in _CHECKS and functions.owner(function) is not None
    ]
    visited: set[cst.FunctionDef] = set()
    while waiting:
        scope = waiting.pop()
        if scope in visited:
            continue
        visited.add(scope)
        for call in functions.program.find(scope, cst.Call):
            target = functions.target(call)
            if target is not None:
                waiting.append(target)
            if method(call) not in ("log", "log_dict") or dotted(call.func) not in ("self.log", "self.log_dict"):
                continue
            if any(argument(call, name) is not None for name in ("sync_dist", "rank_zero_only")):
                continue
            if any(arg.star for arg in call.args):
                edits.ask(
                    call,
                    Message("port.ask_library_log", "`{call}`: average it over the processes with sync_dist=True?"),
                    call=functions.program.text(call),
                )
            elif not _own_metric(functions, call):
                edits.put_argument(call, "sync_dist", "True")
                edits.done(
                    call,
                    Message("port.do_sync", "`{call}`: the value is averaged over the processes"),
                    "sync_dist=True",
                    call=functions.program.text(call),
                )


def _own_metric(functions: Functions, call: cst.Call) -> bool:
    value = argument(call, "value", 1)
    name = dotted(value.value) if value is not None else None
    if name is None or not name.startswith("self."):
        return False
    assigned = functions.assigned(name, functions.scope(call))
    calls_of = [
        functions.imports.full(assignment.value.func)
        for assignment in assigned
        if isinstance(assignment.value, cst.Call)
    ]
    return any(maker.startswith("torchmetrics.") for maker in calls_of)


def _data(edits: Edits, functions: Functions) -> None:
    for owner in functions.classes.values():
        if any((dotted(base.value) or "").rpartition(".")[2] == "IterableDataset" for base in owner.bases):
            edits.ask(
                owner,
                Message(
                    "port.ask_iterable",
                    "an IterableDataset has no sampler: which samples does each rank (and each worker) yield? Now "
                    "every process sees all of them.",
                ),
            )
    for call in functions.calls:
        full = functions.imports.full(call.func)
        scope = functions.scope(call)
        if full.endswith(".random_split") and not seeded(functions, call):
            edits.ask(
                call,
                Message(
                    "port.ask_split",
                    "no seed is set: should all processes divide the data in the same way "
                    "(generator=torch.Generator().manual_seed(0))?",
                ),
            )
        elif full == "torch.utils.data.DataLoader" and argument(call, "batch_sampler", 4) is not None:
            edits.ask(
                call,
                Message(
                    "port.ask_sampler",
                    "this DataLoader has a sampler of its own: how does it divide the data among the processes?",
                ),
            )
        elif not isinstance(scope, cst.FunctionDef) or scope.name.value != "prepare_data":
            download = argument(call, "download")
            if download is not None and functions.program.text(download.value) == "True":
                edits.ask(
                    call,
                    Message(
                        "port.ask_download",
                        "every process downloads to the same place: download before the job? Nodes often have no "
                        "internet.",
                    ),
                )
