"""Lines that only one process may run: printing and saving."""

import builtins
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import DEPTH, Functions
from hackathon.programs.port.names import argument, calls, method
from hackathon.text.messages import Message

SAVES = {
    "torch.save", "numpy.save", "numpy.savez", "numpy.savetxt", "numpy.savez_compressed", "json.dump", "pickle.dump",
    "matplotlib.pyplot.savefig", "matplotlib.pyplot.show", "torch.jit.save", "torchvision.utils.save_image",
}  # fmt: skip
_MOVES = {
    "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "os.rename", "os.replace", "os.remove",
}  # fmt: skip
"""Functions that copy or move what was saved in the same function."""
_HARMLESS = {
    "item", "format", "join", "tolist", "mean", "sum", "cpu", "numpy", "detach", "state_dict", "get_last_lr", "time",
    "perf_counter", "parameters", "numel", "len", "str", "int", "float", "round", "min", "max", "sorted", "abs", "repr",
    "list", "dict", "vars", "enumerate", "zip", "range", "size", "get_lr", "exp", "sqrt", "items", "keys",
    "values", "now", "strftime", "get_device_name", "get", "type", "Path", "lower", "upper", "strip", "open",
    "isoformat",
    "is_available", "device_count", "current_device", "max_memory_allocated", "memory_allocated", "get_scale", "std",
    "dirname", "basename", "getenv", "rjust", "ljust", "average", "log", "argmax", "argmin",
    "eq", "ne", "norm", "count_nonzero", "squeeze", "view", "any", "all", "print", "tuple", "set", "dumps", "median",
    "clamp", "clamp_", "clip", "reshape", "permute", "transpose", "unsqueeze", "flatten", "double", "long", "byte",
    "to", "add", "sub", "mul", "div", "pow", "repeat", "expand", "contiguous", "clone", "astype", "gt", "lt", "ge",
    "le", "nelement",
}  # fmt: skip
"""Calls that no other process waits for, so that only one process may make them."""
_PRINTS = {"print", "sys.stdout.write", "sys.stdout.flush", "sys.stderr.write", "sys.stderr.flush", "tqdm.tqdm.write"}
_TOGETHER = re.compile(
    r"(?:^|[._])(?:all_?gather|all_?reduce|gather|reduce|broadcast|scatter|barrier|dist|distributed|comm|hvd|horovod"
    r"|chainermn|mpi|accelerator|accelerate|fabric|torchmetrics|deepspeed|ray)(?:[._]|$)",
    re.I,
)
"""Parts of names of functions in which processes may wait for each other."""
_OF_FILES = {"write", "writelines", "writer", "writerow", "writerows", "DictWriter", "writeheader", "flush"}
_ONE = ("main_process", "process_zero", "global_zero", "is_master", "is_main", "rank_zero")
"""Parts of names in conditions that hold for one process only."""
_RANK = re.compile(
    r"_*(?:(?:is|get|my|this|local|global|world|node|proc|process|worker|device|gpu|intra|inter|comm|dist|dp|ddp|hvd"
    r"|mpi|ompi|mv2|pmi|pmix)_?)*rank_?(?:zero|0|id)?_*"
)
"""Names of a process's number, in lower case, without others such as `mean_rank`, `lora_rank` and `ranking`."""


@dataclass(frozen=True)
class Output:
    """What counts as output in a framework's programs."""

    saves: frozenset[str] = frozenset()
    """Full names of saving functions, besides the general ones."""
    methods: frozenset[str] = frozenset({"save_pretrained", "savefig"})
    """Methods that save or display."""
    harmless: frozenset[str] = frozenset()
    """Calls that no other process waits for, besides the general ones."""
    also: Callable[[cst.Call], bool] | None = None
    """Other calls that only one process makes, with all their content."""
    files: bool = True
    """Whether a complete `with open(…, "w")` may be one process's; else its lines are checked one by one."""
    waits: Callable[[cst.Call], bool] | None = None
    """Calls for which other processes wait, such as those of the wrapped model."""
    sees: Callable[[cst.CSTNode], bool] | None = None
    """Whether the guard's names are visible at a line; None: everywhere."""


def lines_of_one(edits: Edits, functions: Functions, guard: str, output: Output) -> cst.CSTNode | None:
    """Move printing and saving lines below `if guard:`; return the first saving one. Ask where others may wait."""
    program = functions.program
    edits.guard = guard
    printed: cst.CSTNode | None = None
    saved: cst.CSTNode | None = None
    reported: cst.CSTNode | None = None
    inside: set[cst.CSTNode] = set()
    if output.files:
        for block in program.everywhere(cst.With):
            if _writes_file(functions, block, output) and not _guarded(functions, block) and block not in inside:
                edits.guarded.add(block)
                inside |= set(program.walk(block))
                saved = saved or block
        _ask_files(edits, functions, inside, output)
    for node in program.nodes():
        if not isinstance(node, cst.SimpleStatementLine | cst.SimpleStatementSuite) or node in inside:
            continue
        kinds = [kind_of_output(functions, part, output) for part in node.body]
        if not any(kinds) or _guarded(functions, node):
            continue
        if output.sees is not None and not output.sees(node):
            if kinds != ["prints"]:
                edits.ask(
                    node,
                    Message("port.ask_save", "this line does not know the processes: should it run only `if {guard}`?"),
                    guard=guard,
                )
            continue
        unsafe = None
        if set(kinds) != {"one"}:
            unsafe = next((call for call in calls(program, node) if not harmless(functions, call, output)), None)
        if unsafe is not None or not all(kinds):
            edits.ask(
                node,
                Message(
                    "port.ask_output",
                    "every process does this line, since `{call}` may need all of them: print or save its result "
                    "on rank 0 only?",
                ),
                call=program.text(unsafe.func) if unsafe is not None else "?",
            )
            continue
        if isinstance(node, cst.SimpleStatementSuite):
            _suite(edits, node)
        else:
            edits.guarded.add(node)
        if "saves" in kinds:
            saved = saved or node
        elif "one" in kinds:
            reported = reported or node
        else:
            printed = printed or node
    if reported is not None:
        edits.done(reported, Message("port.do_report", "only rank 0 reports on the training"), f"if {guard}:")
    if printed is not None:
        edits.done(printed, Message("port.do_print", "only rank 0 prints"), f"if {guard}:")
    if saved is not None:
        edits.done(saved, Message("port.do_save", "only rank 0 saves"), f"if {guard}:")
    return saved


def _writes_file(functions: Functions, block: cst.With, output: Output) -> bool:
    """Return whether a block only writes a file, and does nothing that needs other processes."""
    program = functions.program
    opened = [item.item for item in block.items if isinstance(item.item, cst.Call)]
    if len(opened) != len(block.items) or not all(opens_to_write(functions, call) for call in opened):
        return False
    if output.sees is not None and not output.sees(block):
        return False
    assigns = any(True for _ in program.find(block.body, cst.AssignTarget))
    leaves = any(isinstance(node, cst.Return | cst.Yield | cst.Break) for node in program.walk(block.body))
    allowed = (harmless(functions, call, output) or method(call) in _OF_FILES for call in calls(program, block))
    return not assigns and not leaves and all(allowed)


def opens_to_write(functions: Functions, call: cst.Call) -> bool:
    """Return whether a call opens a file for writing."""
    mode = argument(call, "mode", 1)
    text = mode.value.value if mode is not None and isinstance(mode.value, cst.SimpleString) else ""
    return functions.imports.full(call.func) == "open" and bool(set("wax") & set(text))


def _ask_files(edits: Edits, functions: Functions, inside: set[cst.CSTNode], output: Output) -> None:
    for call in functions.calls:
        if not opens_to_write(functions, call) or call in inside or _guarded(functions, call):
            continue
        statement = functions.program.statement(call)
        small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        if small is None or kind_of_output(functions, small, output) != "saves":
            edits.ask(
                call,
                Message("port.ask_file", "every process writes this file: on rank 0 only, or a name with the rank?"),
            )


def _guarded(functions: Functions, node: cst.CSTNode) -> bool:
    """Return whether a line already runs in one process only."""
    around = list(functions.program.above(node))
    tests = [outer.test for outer in around if isinstance(outer, cst.If)]
    tests += [mark.decorator for outer in around if isinstance(outer, cst.FunctionDef) for mark in outer.decorators]
    names = [name.lower() for test in tests for name in _names(functions, test)]
    return any(_RANK.fullmatch(name) or any(part in name for part in _ONE) for name in names)


def _names(functions: Functions, test: cst.BaseExpression) -> Iterator[str]:
    """Yield the names in a condition, including variables that it reads: `os.environ["RANK"]`."""
    program = functions.program
    for node in program.walk(test):
        if isinstance(node, cst.Name):
            yield node.value
        elif isinstance(node, cst.SimpleString) and isinstance(program.parents[node], cst.Index | cst.Arg):
            yield node.raw_value


def kind_of_output(functions: Functions, node: cst.BaseSmallStatement, output: Output) -> str | None:
    """Return whether a statement `prints`, `saves`, or belongs to `one` process otherwise."""
    if not isinstance(node, cst.Expr) or not isinstance(node.value, cst.Call):
        return None
    full = functions.imports.full(node.value.func)
    if output.also is not None and output.also(node.value):
        return "one"
    if full in _PRINTS and functions.target(node.value) is None:
        return "prints"
    saves = full in SAVES | output.saves or method(node.value) in output.methods
    return "saves" if saves or (full in _MOVES and _saved_beside(functions, node.value, output)) else None


def _saved_beside(functions: Functions, call: cst.Call, output: Output) -> bool:
    """Return whether the function of a call saves something, too."""
    scope = functions.scope(call)
    return isinstance(scope, cst.FunctionDef) and any(
        functions.imports.full(inner.func) in SAVES | output.saves for inner in calls(functions.program, scope.body)
    )


def harmless(functions: Functions, call: cst.Call, output: Output, depth: int = DEPTH) -> bool:
    """Return whether no other process waits for what a call does, so that one process may make it alone."""
    if output.waits is not None and output.waits(call):
        return False
    own = functions.target(call)
    if own is not None:
        return (
            depth > 0
            and own not in functions.trains
            and all(
                harmless(functions, inner, output, depth - 1)
                for inner in calls(functions.program, own.body)
                if functions.target(inner) is not own
            )
        )
    full = functions.imports.full(call.func)
    last = (method(call) or full).rpartition(".")[2]
    if output.also is not None and output.also(call):
        return True
    if full in SAVES | output.saves | _PRINTS or last in _HARMLESS | output.harmless | output.methods:
        return True
    return _of_others(functions, call.func, depth)


def _of_others(functions: Functions, node: cst.BaseExpression, depth: int) -> bool:
    """Return whether a function certainly comes from a package in which no process waits for another."""
    while isinstance(node, cst.Attribute | cst.Subscript):
        if isinstance(node, cst.Attribute) and _TOGETHER.search(node.attr.value):
            return False
        node = node.value
    if isinstance(node, cst.Call):
        full = functions.imports.full(node.func)
        last = (method(node) or full).rpartition(".")[2]
        return functions.target(node) is None and (last in _HARMLESS or _of_others(functions, node.func, depth))
    if isinstance(node, cst.SimpleString | cst.FormattedString | cst.List | cst.Dict):
        return True
    if not isinstance(node, cst.Name):
        return False
    home = functions.program.home(node)
    origin = functions.imports.of(home).get(node.value)
    if origin is None:
        return hasattr(builtins, node.value) and node.value not in ("exec", "eval", "input")
    return node.value not in home.bindings and not _TOGETHER.search(origin)


def _suite(edits: Edits, node: cst.SimpleStatementSuite) -> None:
    shell = edits.statements(f"if {edits.guard}:\n    pass\n")[0]

    def change(updated: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(updated, cst.SimpleStatementSuite)
        line = cst.SimpleStatementLine(body=updated.body, trailing_whitespace=updated.trailing_whitespace)
        inner = shell.with_changes(body=cst.IndentedBlock(body=[line]))
        return cst.IndentedBlock(body=[inner])

    edits.replaced[node] = change
