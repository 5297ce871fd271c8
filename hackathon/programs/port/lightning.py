"""PyTorch Lightning: the library distributes; it must hear of how many processes the job has."""

from typing import Literal

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions
from hackathon.programs.port.head import Head
from hackathon.programs.port.names import argument, dotted, method
from hackathon.programs.port.output import Output
from hackathon.programs.port.torch_steps import seeded

TRAINERS = ("lightning.Trainer", "lightning.pytorch.Trainer", "pytorch_lightning.Trainer")
_CHECKS = (
    "validation_step", "test_step", "on_validation_epoch_end", "on_test_epoch_end", "on_validation_batch_end",
    "on_test_batch_end", "on_validation_end", "on_test_end",
)  # fmt: skip
_OUTPUT = Output()


def port_lightning(edits: Edits, functions: Functions) -> Literal["ported", "distributed"]:
    """Give each Trainer the processes of the job, and each logged validation value its mean over them."""
    trainers = [each for each in functions.calls if functions.imports.full(each.func) in TRAINERS]
    for each in trainers:
        if _distributed(edits, each):
            edits.note(each, "distributed", framework="Lightning")
            return "distributed"
    head = Head(edits, functions)
    for each in functions.calls:
        if functions.imports.full(each.func).endswith(".LightningCLI"):
            edits.ask(each, "ask-library-cli")
    for each in trainers:
        _trainer(edits, each, head)
    _logged(edits, functions)
    _data(edits, functions)
    head.first_of_ranks(_OUTPUT)
    place = head.put()
    if place is not None:
        edits.done(place, "do-launcher")
    return "ported"


def _distributed(edits: Edits, call: cst.Call) -> bool:
    """Return whether a Trainer is told of several processes already."""
    devices = argument(call, "devices")
    told = argument(call, "strategy") is not None or argument(call, "num_nodes") is not None
    return devices is not None and told and _kind(edits, devices.value) == "other"


def _kind(edits: Edits, value: cst.BaseExpression) -> Literal["one", "all", "fixed", "other"]:
    """Return which devices a value means: the first one, all of this machine, a fixed choice, or something else."""
    text = edits.program.text(value).strip("'\"").replace(" ", "")
    if text in ("1", "[0]"):
        return "one"
    if text in ("auto", "-1", "None"):
        return "all"
    # `devices=4, strategy="ddp"` is a distributed program; `devices=[2]` is one GPU, not the job's
    return "fixed" if isinstance(value, cst.List) else "other"


def _trainer(edits: Edits, call: cst.Call, head: Head) -> None:
    if any(each.star for each in call.args):
        edits.ask(call, "ask-library-options")
        return
    for name in ("gpus", "tpu_cores", "num_processes", "auto_select_gpus"):
        if (old := argument(call, name)) is not None:
            edits.ask(call, "ask-library-devices", argument=edits.program.text(old).rstrip(", "))
            return
    devices, nodes, strategy = (argument(call, name) for name in ("devices", "num_nodes", "strategy"))
    kind = _kind(edits, devices.value) if devices is not None else "all"
    if kind in ("fixed", "other"):
        assert devices is not None
        edits.ask(call, "ask-library-devices", argument=edits.program.text(devices).rstrip(", "))
        return
    if nodes is not None and edits.program.text(nodes.value) != "1":
        edits.ask(call, "ask-library-devices", argument=edits.program.text(nodes).rstrip(", "))
        return
    given = edits.program.text(strategy.value).strip("'\"") if strategy is not None else "auto"
    if given in ("dp", "ddp_spawn", "ddp_notebook", "ddp_fork") or (kind == "one" and given not in ("auto", "None")):
        edits.ask(call, "ask-library-devices", argument=f"strategy={given}")
        return
    world, local = head.of_launcher("WORLD_SIZE"), head.of_launcher("LOCAL_WORLD_SIZE")
    values = {
        "devices": local if kind == "one" else f'{local} if {world} > 1 else "auto"',
        "num_nodes": f"{world} // {local}",
    }
    if given in ("auto", "None"):
        values["strategy"] = f'"ddp" if {world} > 1 else "auto"'
    for name, value in values.items():
        edits.put_argument(call, name, value)
    edits.done(call, "do-trainer", ", ".join(f"{name}={value}" for name, value in values.items()))


def _logged(edits: Edits, functions: Functions) -> None:
    """Average what validation and test log; metrics of torchmetrics do that by themselves."""
    waiting = [each for each in functions.all if each.name.value in _CHECKS and functions.owner(each) is not None]
    seen: set[cst.FunctionDef] = set()
    while waiting:
        scope = waiting.pop()
        if scope in seen:
            continue
        seen.add(scope)
        for call in functions.program.find(scope, cst.Call):
            target = functions.target(call)
            if target is not None:
                waiting.append(target)
            if method(call) not in ("log", "log_dict") or dotted(call.func) not in ("self.log", "self.log_dict"):
                continue
            if any(argument(call, name) is not None for name in ("sync_dist", "rank_zero_only")):
                continue
            if any(each.star for each in call.args):
                edits.ask(call, "ask-library-log", call=functions.program.text(call))
            elif not _own_metric(functions, call):
                edits.put_argument(call, "sync_dist", "True")
                edits.done(call, "do-sync", "sync_dist=True", call=functions.program.text(call))


def _own_metric(functions: Functions, call: cst.Call) -> bool:
    value = argument(call, "value", 1)
    name = dotted(value.value) if value is not None else None
    if name is None or not name.startswith("self."):
        return False
    made = functions.assigned(name, functions.scope(call))
    calls_of = [functions.imports.full(each.value.func) for each in made if isinstance(each.value, cst.Call)]
    return any(each.startswith("torchmetrics.") for each in calls_of)


def _data(edits: Edits, functions: Functions) -> None:
    for each in functions.classes.values():
        if any((dotted(base.value) or "").rpartition(".")[2] == "IterableDataset" for base in each.bases):
            edits.ask(each, "ask-iterable")
    for call in functions.calls:
        full = functions.imports.full(call.func)
        scope = functions.scope(call)
        if full.endswith(".random_split") and not seeded(functions, call):
            edits.ask(call, "ask-split")
        elif full == "torch.utils.data.DataLoader" and argument(call, "batch_sampler", 4) is not None:
            edits.ask(call, "ask-sampler")
        elif scope is None or scope.name.value != "prepare_data":
            download = argument(call, "download")
            if download is not None and functions.program.text(download.value) == "True":
                edits.ask(call, "ask-download")
