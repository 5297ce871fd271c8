"""Actions of one process only: printing, showing progress, saving."""

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import DEPTH, Functions
from hackathon.programs.port.names import dotted, with_argument
from hackathon.programs.port.output import Output, kind_of_output, lines_of_one
from hackathon.programs.port.torch_setup import AddedNames
from hackathon.text.messages import Message

_LOGGERS = ("wandb.init", "mlflow.start_run")
_OUTPUT = Output(files=False)


def only_first(edits: Edits, functions: Functions, words: AddedNames) -> None:
    """Let only rank 0 print and save; ask where other processes might then wait forever."""
    if lines_of_one(edits, functions, f"{words.rank} == 0", _OUTPUT) is not None:
        _reload(edits, functions, words)
    _shown(edits, functions, words)


def _reload(edits: Edits, functions: Functions, words: AddedNames) -> None:
    """Wait for rank 0's file before all processes read it, only where certainly all of them get there."""
    for call in functions.calls:
        if functions.imports.full(call.func) != "torch.load":
            continue
        if _before_training(functions, call, DEPTH):
            continue  # a file that existed before
        inside = any(
            isinstance(outer, cst.If | cst.While | cst.For | cst.Try | cst.FunctionDef)
            and not (isinstance(outer, cst.If) and "__name__" in functions.program.text(outer.test))
            and not (isinstance(outer, cst.FunctionDef) and outer in functions.trains)
            for outer in functions.program.above(call)
        )
        if not inside:
            edits.put_before(call, f"if {words.world} > 1:\n    {words.dist}.barrier()\n")
            edits.done(
                call, Message("port.do_barrier", "all processes wait for the file of rank 0"), f"{words.dist}.barrier()"
            )
        else:
            edits.ask(
                call,
                Message(
                    "port.ask_reload",
                    "rank 0 may still be writing this file: do all processes come here? Then call {barrier} before it.",
                ),
                barrier=f"{words.dist}.barrier()",
            )


def _before_training(functions: Functions, call: cst.Call, depth: int) -> bool:
    """Return whether a call certainly precedes the training, e.g. when it resumes."""
    scope = functions.scope(call)
    body: cst.CSTNode = functions.program.module if scope is None else scope.body
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
    callers = functions.callers.get(scope, []) if scope is not None else []
    return depth > 0 and bool(callers) and all(_before_training(functions, caller, depth - 1) for caller in callers)


def _shown(edits: Edits, functions: Functions, words: AddedNames) -> None:
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
            edits.done(
                call, Message("port.do_progress", "only rank 0 shows a progress bar"), f"disable={words.rank} > 0"
            )
        elif full in _LOGGERS or full.rpartition(".")[2] == "SummaryWriter":
            edits.ask(
                call,
                Message("port.ask_logger", "`{call}` in every process: on rank 0 only, also where it is used?"),
                call=program.text(call.func),
            )
        elif "download" in named and program.text(named["download"].value) == "True":
            edits.ask(
                call,
                Message(
                    "port.ask_download",
                    "every process downloads to the same place: download before the job? Nodes often have no internet.",
                ),
            )
        elif full == "open" and _writes(call, functions):
            edits.ask(
                call,
                Message("port.ask_file", "every process writes this file: on rank 0 only, or a name with the rank?"),
            )
        elif full in ("os.makedirs", "os.mkdir") and "exist_ok" not in named:
            edits.ask(
                call,
                Message("port.ask_folder", "several processes create this folder: os.makedirs(…, exist_ok=True)?"),
                call=program.text(call.func),
            )


def _writes(call: cst.Call, functions: Functions) -> bool:
    mode = call.args[1].value if len(call.args) > 1 else None
    if not isinstance(mode, cst.SimpleString) or not set("wax") & set(mode.value):
        return False
    edits_only = functions.program.statement(call)
    # `json.dump(x, open(…, "w"))` is a saving line of its own
    small = edits_only.body[0] if isinstance(edits_only, cst.SimpleStatementLine) else None
    return small is None or kind_of_output(functions, small, _OUTPUT) != "saves"


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
