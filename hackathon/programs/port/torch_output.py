"""Actions of one process only: printing, showing progress, saving."""

import re
from collections.abc import Iterator, Sequence
from functools import partial

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import DEPTH, Functions, Scope
from hackathon.programs.port.names import argument, calls, dotted, method, with_argument
from hackathon.programs.port.output import SAVES, Output, lines_of_one
from hackathon.programs.port.torch_data import TrainingData
from hackathon.programs.port.torch_model import TrainedModel
from hackathon.programs.port.torch_setup import AddedNames
from hackathon.text.messages import Message

_LOGGERS = ("wandb.init", "mlflow.start_run", "tensorboard_logger.configure")
_FETCHES = {
    "urllib.request.urlretrieve", "urllib.request.urlopen", "requests.get", "wget.download", "gdown.download",
    "torch.hub.download_url_to_file", "torchvision.datasets.utils.download_url",
    "torchvision.datasets.utils.download_and_extract_archive",
}  # fmt: skip
"""Functions that download."""
_SAVED_TO = {
    "torch.save": 1, "numpy.save": 0, "numpy.savez": 0, "numpy.savez_compressed": 0, "numpy.savetxt": 0,
}  # fmt: skip
"""Functions that save → the position of the file."""
_SAMPLES = re.compile(r"\.shape\[0\]|\.size\(0\)|^len\(")
"""How a program counts the samples of a batch."""
_PLAIN = frozenset({
    "os", "path", "join", "str", "format", "args", "opt", "opts", "options", "params", "hparams", "settings", "self",
    "config", "cfg", "FLAGS", "f", "torch", "Path", "epoch",
})  # fmt: skip
"""Words of a path that say nothing about the file."""


def only_first(edits: Edits, functions: Functions, words: AddedNames, model: TrainedModel, data: TrainingData) -> None:
    """Let only rank 0 print and save; ask where other processes might then wait forever."""
    output = Output(waits=partial(_waits, functions, model))
    if lines_of_one(edits, functions, f"{words.rank} == 0", output) is not None:
        _reload(edits, functions, words)
    _located(edits, functions)
    _shown(edits, functions, words, data)
    _logged(edits, functions, words)


def _waits(functions: Functions, model: TrainedModel, call: cst.Call) -> bool:
    """Return whether a call runs the wrapped model, or hands it to somebody who may."""
    scope = functions.scope(call)
    if model.is_model(call.func, scope):
        return True
    return functions.target(call) is None and any(
        model.is_model(arg.value, scope) for arg in call.args if method(call) not in ("save", "export")
    ) and functions.imports.full(call.func) not in SAVES | {"print", "str", "repr", "len", "type"}  # fmt: skip


def _reload(edits: Edits, functions: Functions, words: AddedNames) -> None:
    """Wait for rank 0's file before all processes read it, only where certainly all of them get there."""
    saved: dict[bool, set[str]] = {True: set(), False: set()}
    for call in functions.calls:
        path = _SAVED_TO.get(functions.imports.full(call.func))
        if path is not None:
            words_of_path = _words(functions, call.args[path : path + 1])
            saved[_before_training(functions, call, DEPTH)] |= words_of_path
    for call in functions.calls:
        if functions.imports.full(call.func) not in ("torch.load", "numpy.load", "numpy.loadtxt"):
            continue
        early = _before_training(functions, call, DEPTH)
        if not _words(functions, call.args[:1]) & (saved[True] if early else saved[True] | saved[False]):
            continue  # a file that existed before, or another one
        inside = any(
            isinstance(outer, cst.If | cst.While | cst.For | cst.Try | cst.FunctionDef)
            and not (isinstance(outer, cst.If) and "__name__" in functions.program.text(outer.test))
            and not (isinstance(outer, cst.FunctionDef) and outer in functions.trains)
            for outer in functions.program.above(call)
        )
        if not inside:
            edits.put_before(_opened(functions, call), f"if {words.world} > 1:\n    {words.dist}.barrier()\n")
            edits.done(
                call, Message("port.do_barrier", "all processes wait for the file of rank 0"), f"{words.dist}.barrier()"
            )
        else:
            edits.ask(
                _opened(functions, call),
                Message(
                    "port.ask_reload",
                    "rank 0 may still be writing this file: do all processes come here? Then call {barrier} before it.",
                ),
                barrier=f"{words.dist}.barrier()",
            )


def _words(functions: Functions, paths: Sequence[cst.Arg]) -> set[str]:
    """Return the words of the paths of files: names and texts, through variables and the `open(…)` around."""
    words: set[str] = set()
    waiting: list[tuple[cst.BaseExpression, int]] = [(path.value, DEPTH) for path in paths]
    while waiting:
        value, depth = waiting.pop()
        for node in functions.program.walk(value):
            if isinstance(node, cst.SimpleString):
                words.add(node.raw_value)
            elif isinstance(node, cst.FormattedStringText):
                words.add(node.value)
            elif isinstance(node, cst.Name) and not _holds_options(functions, node):
                words.add(node.value)
                scope = functions.scope(value)
                waiting += [(origin, 0) for origin, _ in functions.origins(node, scope)] if depth else []
                waiting += [(item, 0) for item in _opens(functions, node.value, value)] if depth else []
    return words - _PLAIN


def _opens(functions: Functions, name: str, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Yield the `open(…)` of which a name is the stream."""
    for outer in functions.program.above(node):
        for item in outer.items if isinstance(outer, cst.With) else ():
            if item.asname is not None and isinstance(item.asname.name, cst.Name) and item.asname.name.value == name:
                yield item.item


def _opened(functions: Functions, call: cst.Call) -> cst.CSTNode:
    """Return the `with open(…)` around the reading of a file, else the call."""
    for outer in functions.program.above(call):
        if isinstance(outer, cst.FunctionDef | cst.ClassDef):
            break
        if isinstance(outer, cst.With) and any(
            isinstance(item.item, cst.Call) and functions.imports.full(item.item.func) == "open" for item in outer.items
        ):
            return outer
    return call


def _located(edits: Edits, functions: Functions) -> None:
    """Load weights into memory first, instead of all processes onto the GPU that they were saved from."""
    weights = {
        value
        for call in functions.calls
        if method(call) == "load_state_dict" and call.args
        for value in _sources(functions, call.args[0].value, functions.scope(call))
    }
    for call in functions.calls:
        loads = functions.imports.full(call.func) == "torch.load" and call in weights
        if loads and argument(call, "map_location", 1) is None and not any(arg.star for arg in call.args):
            edits.put_argument(call, "map_location", '"cpu"')
            edits.done(
                call,
                Message("port.do_location", "not every process loads onto the GPU that saved the file"),
                'map_location="cpu"',
            )


def _sources(functions: Functions, value: cst.BaseExpression, scope: Scope) -> Iterator[cst.BaseExpression]:
    """Yield the expressions that a value, or the dictionary of which it is an entry, may come from."""
    while isinstance(value, cst.Subscript):
        value = value.value
    for origin, origin_scope in functions.origins(value, scope):
        yield origin
        if isinstance(origin, cst.Subscript):
            yield from (inner for inner, _ in functions.origins(origin.value, origin_scope))


def _holds_options(functions: Functions, node: cst.Name) -> bool:
    """Return whether only an attribute of a name is meant: `options` of `options.path` does not belong to a path."""
    parent = functions.program.parents.get(node)
    if not isinstance(parent, cst.Attribute) or parent.value is not node:
        return False
    call = functions.program.parents.get(parent)
    return not isinstance(call, cst.Call) or call.func is not parent


def _before_training(functions: Functions, call: cst.Call, depth: int) -> bool:
    """Return whether a call certainly precedes the training, e.g. when it resumes."""
    scope = functions.scope(call)
    body: cst.CSTNode = scope.body if isinstance(scope, cst.FunctionDef) else scope or functions.program.module
    holders = {call, *functions.program.above(call)}
    statements = list(body.body) if isinstance(body, cst.Module | cst.IndentedBlock) else []
    if scope is None:  # `if __name__ == "__main__":` counts as the module itself
        outer = next((statement for statement in statements if statement in holders), None)
        if (
            isinstance(outer, cst.If)
            and isinstance(outer.body, cst.IndentedBlock)
            and "__name__" in functions.program.text(outer.test)
        ):
            statements = list(outer.body.body)
    mine = next((number for number, statement in enumerate(statements) if statement in holders), None)
    training = [number for number, statement in enumerate(statements) if functions.reaches(statement)]
    if training:
        return mine is not None and mine < training[0]
    callers = functions.calls_of(scope)
    return depth > 0 and bool(callers) and all(_before_training(functions, caller, depth - 1) for caller in callers)


def _logged(edits: Edits, functions: Functions, words: AddedNames) -> None:
    """Let only rank 0 log below the level of a warning."""
    for call in functions.calls:
        level = argument(call, "level")
        if functions.imports.full(call.func) != "logging.basicConfig" or level is None:
            continue
        text, short = functions.program.text(level.value), (dotted(call.func) or "").rpartition(".")[0]
        if short:
            edits.swap(level.value, f"{text} if {words.rank} == 0 else {short}.WARNING")
            edits.done(
                call, Message("port.do_logging", "only rank 0 logs below the level of a warning"), f"{short}.WARNING"
            )


def _shown(edits: Edits, functions: Functions, words: AddedNames, data: TrainingData) -> None:
    """Handle progress bars, loggers, files and downloads."""
    program = functions.program
    for call in functions.calls:
        full = functions.imports.full(call.func)
        named = {argument.keyword.value: argument for argument in call.args if argument.keyword is not None}
        if full.rpartition(".")[2] in ("tqdm", "trange") and full.startswith("tqdm"):
            if "disable" in named:
                continue
            pattern = edits.expression(f"f(disable={words.rank} > 0)")
            assert isinstance(pattern, cst.Call)
            _add(edits, call, pattern.args[0])
            if (total := named.get("total")) is not None and (
                data.counts_all(total.value, functions.scope(call)) or _counts_samples(functions, call)
            ):
                if not isinstance(total.value, cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.Integer):
                    edits.change(total.value, _in_brackets)
                edits.wrap(total.value, f"-(-{{}} // {words.world})")
                edits.done(
                    call,
                    Message("port.do_total", "the progress bar ends with the samples of this process"),
                    f"// {words.world}",
                )
            edits.done(
                call, Message("port.do_progress", "only rank 0 shows a progress bar"), f"disable={words.rank} > 0"
            )
        elif full in _LOGGERS or full.rpartition(".")[2] == "SummaryWriter":
            edits.ask(
                call,
                Message("port.ask_logger", "`{call}` in every process: on rank 0 only, also where it is used?"),
                call=program.text(call.func),
            )
        elif full.removeprefix("six.moves.") in _FETCHES or (
            "download" in named and program.text(named["download"].value) == "True"
        ):
            edits.ask(
                call,
                Message(
                    "port.ask_download",
                    "every process downloads to the same place: download before the job? Nodes often have no internet.",
                ),
            )
        elif full in ("os.makedirs", "os.mkdir") and "exist_ok" not in named and not _tried(functions, call):
            if full == "os.mkdir" and "." in (dotted(call.func) or ""):
                edits.swap(call.func, f"{(dotted(call.func) or '').rpartition('.')[0]}.makedirs")
            if full == "os.makedirs" or "." in (dotted(call.func) or ""):
                edits.put_argument(call, "exist_ok", "True")
                edits.done(
                    call,
                    Message("port.do_folder", "several processes may create this folder"),
                    "os.makedirs(…, exist_ok=True)",
                )
            else:
                edits.ask(
                    call,
                    Message("port.ask_folder", "several processes create this folder: os.makedirs(…, exist_ok=True)?"),
                )


def _counts_samples(functions: Functions, bar: cst.Call) -> bool:
    """Return whether a progress bar of a training loop advances by the samples of a batch."""
    block = next((outer for outer in functions.program.above(bar) if isinstance(outer, cst.With)), None)
    if block is None or not functions.reaches(block.body):
        return False
    return any(
        method(call) == "update" and len(call.args) == 1 and _SAMPLES.search(functions.program.text(call.args[0].value))
        for call in calls(functions.program, block.body)
    )


def _in_brackets(updated: cst.CSTNode) -> cst.CSTNode:
    return updated.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _tried(functions: Functions, call: cst.Call) -> bool:
    """Return whether a program expects that a folder exists: within `try`."""
    return any(isinstance(outer, cst.Try) for outer in functions.program.above(call))


def _add(edits: Edits, call: cst.Call, extra: cst.Arg) -> None:
    def change(updated: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(updated, cst.Call)
        return updated.with_changes(args=with_argument(list(updated.args), extra) if updated.args else [extra])

    edits.replaced[call] = change


def notebook(edits: Edits, functions: Functions) -> None:
    """Ask about code that only works in a notebook."""
    for call in functions.calls:
        if (dotted(call.func) or "").split(".")[0] == "get_ipython" or _of_ipython(call):
            edits.ask(call, Message("port.ask_notebook", "this line works in a notebook only: remove it?"))


def _of_ipython(call: cst.Call) -> bool:
    node: cst.CSTNode = call.func
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Call) and dotted(node.func) == "get_ipython"
