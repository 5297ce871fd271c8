"""The beginning and the end of a PyTorch program: process group, device, names for the other changes."""

import libcst as cst

from hackathon.programs.port.edits import Edits, Statement
from hackathon.programs.port.functions import Functions
from hackathon.programs.port.names import argument, calls, dotted, method
from hackathon.programs.port.source import SingleGpuProgram
from hackathon.text.messages import Message

_BINDERS = (
    cst.AssignTarget, cst.AnnAssign, cst.Param, cst.FunctionDef, cst.ClassDef, cst.For, cst.Element, cst.NamedExpr,
)  # fmt: skip
"""Nodes that give a name another meaning."""


class AddedNames:
    """The names added to a ported program, which does not use them otherwise."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        taken = functions.program.identifiers
        self._added: list[tuple[str, str, str]] = []

        def fresh(name: str) -> str:
            while name in taken:
                name += "_"
            return name

        def usable(short: str, full: str, file: SingleGpuProgram) -> bool:
            meant = functions.imports.of(file).get(short, full)
            return meant == full and not any(
                name.value == short and isinstance(file.parents.get(name), _BINDERS)
                for name in file.find(file.module, cst.Name)
            )

        def imported(full: str, line: str) -> str:
            names = [short for short, full_name in functions.imports.names.items() if full_name == full]
            present = next(
                (
                    short
                    for short in dict.fromkeys((*names, full.rpartition(".")[2]))
                    if all(usable(short, full, file) for file in functions.program.files)
                ),
                None,
            )
            short = present if present is not None else fresh(full.split(".")[-1])
            changed = "" if short == line.split()[-1] else f" as {short}"
            self._added.append((short, full, f"{line}{changed}"))
            return short

        self.os = imported("os", "import os")
        self.torch = imported("torch", "import torch")
        self.dist = fresh("dist")
        self._added.append((self.dist, "", f"import torch.distributed as {self.dist}"))
        self.ddp = imported(
            "torch.nn.parallel.DistributedDataParallel", "from torch.nn.parallel import DistributedDataParallel"
        )
        self._sampler = fresh("DistributedSampler")
        self._unwrapped = fresh("unwrapped")
        self.world, self.rank = fresh("WORLD_SIZE"), fresh("RANK")
        self.uses_unwrapped = self.uses_sampler = self.uses_contextlib = False
        self._contextlib = fresh("nullcontext")

    @property
    def sampler(self) -> str:
        """The class DistributedSampler, imported on use."""
        self.uses_sampler = True
        return self._sampler

    @property
    def unwrapped(self) -> str:
        """The function that returns the model below DistributedDataParallel."""
        self.uses_unwrapped = True
        return self._unwrapped

    @property
    def nullcontext(self) -> str:
        """`contextlib.nullcontext`."""
        self.uses_contextlib = True
        return self._contextlib

    def head(self, file: SingleGpuProgram, names: set[str] | None = None) -> str:
        """Return the text after a file's own imports; `names`: those that it needs, None: all that were used."""
        unwraps = self.uses_unwrapped if names is None else self._unwrapped in names
        values = {
            self.world: f'{self.world} = int({self.os}.environ.get("WORLD_SIZE", "1"))',
            self.rank: f'{self.rank} = int({self.os}.environ.get("RANK", "0"))',
        }
        numbers = [text for name, text in values.items() if names is None or name in names]
        needed = (
            None if names is None else {*names, *((self.ddp,) if unwraps else ()), *((self.os,) if numbers else ())}
        )
        lines = [
            line
            for short, full, line in self._added
            if (needed is None or short in needed)
            and not (
                full
                and self.functions.imports.of(file).get(short) == full
                and imported_first(self.functions, short, file)
            )
        ]
        if self.uses_contextlib if needed is None else self._contextlib in needed:
            changed = "" if self._contextlib == "nullcontext" else f" as {self._contextlib}"
            lines.insert(0, f"from contextlib import nullcontext{changed}")
        if self.uses_sampler if needed is None else self._sampler in needed:
            changed = "" if self._sampler == "DistributedSampler" else f" as {self._sampler}"
            lines.append(f"from torch.utils.data.distributed import DistributedSampler{changed}")
        lines += ["", *numbers] if numbers else []
        if unwraps:
            lines += [
                "", "",
                f"def {self._unwrapped}(model):",
                f"    return model.module if isinstance(model, {self.ddp}) else model",
            ]  # fmt: skip
        return "\n".join(lines) + "\n" if lines else ""

    def _imports(self, file: SingleGpuProgram, short: str, full: str) -> bool:
        return self.functions.imports.of(file).get(short) == full and imported_first(self.functions, short, file)

    def start(self) -> str:
        """Return the code that joins the processes."""
        local = f'int({self.os}.environ.get("LOCAL_RANK", "0"))'
        return (
            f"if {self.world} > 1:\n"
            f"    if {self.torch}.cuda.is_available():\n"
            f"        {self.torch}.cuda.set_device({local} % {self.torch}.cuda.device_count())\n"
            f'    {self.dist}.init_process_group("nccl" if {self.torch}.cuda.is_available() else "gloo")\n'
        )

    def end(self) -> str:
        """Return the code that leaves the group."""
        return f"if {self.world} > 1:\n    {self.dist}.destroy_process_group()\n"


def imported_first(functions: Functions, name: str, file: SingleGpuProgram | None = None) -> bool:
    """Return whether a file imports a name before its first other statement."""
    module = (file or functions.program).module
    for statement in module.body[: imports_end(module)]:
        for node in functions.program.find(statement, cst.ImportAlias):
            alias = dotted(node.asname.name) if node.asname else (dotted(node.name) or "").split(".")[0]
            if alias == name or (node.asname is None and dotted(node.name) == name):
                return True
    return False


def imports_end(module: cst.Module) -> int:
    """Return the number of statements up to the last of the first imports."""
    last = 0
    for number, statement in enumerate(module.body):
        if isinstance(statement, cst.SimpleStatementLine):
            small = statement.body[0]
            if isinstance(small, cst.Import | cst.ImportFrom):
                last = number + 1
                continue
            text = isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString | cst.ConcatenatedString)
            notebook = isinstance(small, cst.Expr) and _of_notebook(small.value)
            setting = isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Subscript)
            name = small.targets[0].target if isinstance(small, cst.Assign) else None
            about = isinstance(name, cst.Name) and name.value.startswith("__")
            before = isinstance(small, cst.Expr) and _before_imports(small.value)
            if text or notebook or setting or about or before:
                continue
        break
    return last


def _before_imports(node: cst.BaseExpression) -> bool:
    """Return whether a line prepares the following imports: environment variables, paths, warnings."""
    name = dotted(node.func) if isinstance(node, cst.Call) else None
    return name is not None and name.startswith(("os.environ.", "sys.path.", "warnings.", "matplotlib.use"))


def _of_notebook(node: cst.BaseExpression) -> bool:
    while isinstance(node, cst.Call | cst.Attribute):
        node = node.func if isinstance(node, cst.Call) else node.value
    return isinstance(node, cst.Name) and node.value == "get_ipython"


def main_block(functions: Functions) -> cst.If | None:
    """Return `if __name__ == "__main__":`."""
    for statement in functions.program.module.body:
        if (
            isinstance(statement, cst.If)
            and "__name__" in functions.program.text(statement.test)
            and statement.orelse is None
        ):
            return statement if isinstance(statement.body, cst.IndentedBlock) else None
    return None


def set_up(edits: Edits, functions: Functions, words: AddedNames) -> None:
    """Insert the beginning and the end. Called last, when the used names are known."""
    module = functions.program.module
    block = main_block(functions)
    early = [call for call in calls(functions.program, module) if _moves(functions, call, block)]
    body = module.body if block is None or early else block.body.body
    start = edits.statements(words.start())
    # two blank lines after a function, one after anything else
    gap = [cst.EmptyLine(indent=False)] * (2 if words.uses_unwrapped else 1)
    apart = [start[0].with_changes(leading_lines=gap), *start[1:]]
    anchor = _insert(edits, functions.program, words.head(functions.program), apart if body is module.body else [])
    if body is not module.body:
        edits.before.setdefault(body[0], [])[:0] = start
    for file in functions.program.files[1:]:
        if file in edits.files():
            new = {name.value for name in file.find(edits.changed(file), cst.Name)}
            _insert(edits, file, words.head(file, new - {name.value for name in file.find(file.module, cst.Name)}), [])
    edits.done(
        anchor if body is module.body else body[0],
        Message(
            "port.do_start",
            "the processes join one group, and each takes its own GPU; without a launcher nothing changes",
        ),
        words.start(),
    )
    end = block.body.body[-1] if block is not None and block is module.body[-1] else module.body[-1]
    last = [call for call in calls(functions.program, end) if functions.scope(call) is None]
    if any(functions.imports.full(call.func) in ("sys.exit", "exit", "quit", "os._exit") for call in last):
        edits.ask(
            end,
            Message("port.ask_exit", "the program ends here: where can `{end}` stand before it?"),
            end=words.end().replace("\n    ", " ").strip(),
        )
    else:
        edits.after.setdefault(end, []).extend(edits.statements(words.end()))
        edits.done(end, Message("port.do_end", "the group ends with the program"), words.end())


def _insert(edits: Edits, file: SingleGpuProgram, head: str, more: list[Statement]) -> cst.CSTNode:
    """Insert statements after the imports of a file; return the statement next to them."""
    number = imports_end(file.module)
    anchor = file.module.body[max(number - 1, 0)]
    around = edits.after if number else edits.before
    statements = [*edits.statements(head), *more]
    if statements:
        around.setdefault(anchor, [])[:0] = statements
    return anchor


def _moves(functions: Functions, call: cst.Call, block: cst.If | None) -> bool:
    """Return whether the module itself, outside `__main__`, moves an object to a device."""
    if functions.scope(call) is not None or method(call) not in ("to", "cuda"):
        return False
    return block is None or block not in set(functions.program.above(call))


def _number(functions: Functions, call: cst.Call) -> bool:
    """Return whether a device is a plain number."""
    origins = functions.origins(call.args[0].value, functions.scope(call)) if call.args else ()
    return any(isinstance(value, cst.Integer) for value, _ in origins)


def devices(edits: Edits, functions: Functions, words: AddedNames) -> None:
    """Replace GPU 0 with the process's own: the current device, which `set_device` chose."""
    program = functions.program
    for node in program.everywhere(cst.SimpleString):
        if node.value[1:-1] == "cuda:0" and node.value[0] in "'\"":
            edits.swap(node, f"{node.value[0]}cuda{node.value[0]}")
            edits.done(
                node,
                Message("port.do_device", "{old} → {new}: each process uses its own GPU"),
                old=node.value,
                new="cuda",
            )
        elif node.value.strip("'\"").startswith("cuda:"):
            edits.ask(
                node,
                Message("port.ask_device", '{text}: a fixed GPU. Should each process use its own one, "cuda"?'),
                text=node.value,
            )
    for formatted in program.everywhere(cst.FormattedString):
        if program.text(formatted)[1:].lstrip("'\"").startswith("cuda:"):
            edits.ask(
                formatted,
                Message("port.ask_device", '{text}: a fixed GPU. Should each process use its own one, "cuda"?'),
                text=program.text(formatted),
            )
    for call in functions.calls:
        full = functions.imports.full(call.func)
        if full == "torch.cuda.set_device":
            if [program.text(arg.value) for arg in call.args] == ["0"]:
                edits.swap(call.args[0].value, f"{words.torch}.cuda.current_device()")
                edits.done(
                    call,
                    Message("port.do_device", "{old} → {new}: each process uses its own GPU"),
                    old=program.text(call),
                    new="current_device()",
                )
            else:
                edits.ask(
                    call,
                    Message("port.ask_device", '{text}: a fixed GPU. Should each process use its own one, "cuda"?'),
                    text=program.text(call),
                )
        elif full == "torch.device" and len(call.args) == 2 and program.text(call.args[1].value) == "0":
            first = call.args[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            edits.replaced[call] = lambda updated, device=first: updated.with_changes(args=(device,))  # type: ignore[misc]
            edits.done(
                call,
                Message("port.do_device", "{old} → {new}: each process uses its own GPU"),
                old=program.text(call),
                new='device("cuda")',
            )
        elif (full == "torch.device" and len(call.args) > 1) or (method(call) == "to" and _number(functions, call)):
            edits.ask(
                call,
                Message("port.ask_device", '{text}: a fixed GPU. Should each process use its own one, "cuda"?'),
                text=program.text(call),
            )
        elif method(call) == "cuda" and call.args and argument(call, "non_blocking") is None:
            if program.text(call.args[0].value) == "0":
                edits.replaced[call] = lambda updated: updated.with_changes(args=())
                edits.done(
                    call,
                    Message("port.do_device", "{old} → {new}: each process uses its own GPU"),
                    old=".cuda(0)",
                    new=".cuda()",
                )
            elif not isinstance(call.args[0].value, cst.Name):  # a name: its value is changed where it is assigned
                edits.ask(
                    call,
                    Message("port.ask_device", '{text}: a fixed GPU. Should each process use its own one, "cuda"?'),
                    text=program.text(call),
                )
    for literal in program.everywhere(cst.SimpleString):
        parent = program.parents.get(program.parents.get(program.parents.get(literal, literal), literal))
        if literal.value[1:-1] == "CUDA_VISIBLE_DEVICES" and isinstance(parent, cst.Subscript):
            edits.ask(
                literal,
                Message(
                    "port.ask_visible", "CUDA_VISIBLE_DEVICES set here hides GPUs from the other processes: remove it?"
                ),
            )
