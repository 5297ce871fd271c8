"""Chainer's devices: create the communicator, and replace a fixed GPU with each process's own."""

from dataclasses import dataclass, field

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions, Scope
from hackathon.programs.port.head import Head
from hackathon.programs.port.names import argument, dotted, method
from hackathon.text.messages import Message

_BY_NUMBER = (
    "chainer.cuda.get_device_from_id", "chainer.backends.cuda.get_device_from_id", "chainer.cuda.get_device",
    "chainer.backends.cuda.get_device",
)  # fmt: skip


@dataclass
class Communicator:
    """The communicator of a ported program and the lines that see it."""

    edits: Edits
    functions: Functions
    head: Head
    name: str = ""
    _scope: Scope = None
    _line: int = 0
    _numbers: list[cst.BaseExpression] = field(default_factory=list)
    """Fixed numbers of GPUs."""
    _options: dict[str, cst.BaseExpression] = field(default_factory=dict)
    """Options with the number, such as `args.gpu`, and one use of each."""

    def __post_init__(self) -> None:
        self.package = self.head.imported("chainermn", "import chainermn")
        self.name = self.head.named("comm")
        self._make()

    def sees(self, node: cst.CSTNode) -> bool:
        """Return whether a line sees the communicator."""
        if self._line == 0:
            return True
        scope = self.functions.scope(node)
        if self._scope is None and scope is not None:
            return True
        return scope is self._scope and self.functions.program.line(node) > self._line

    def _make(self) -> None:
        functions, program = self.functions, self.functions.program
        devices = [call for call in functions.calls if functions.imports.full(call.func) == "chainer.get_device"]
        for call in functions.calls:
            value = self._device(call)
            if value is not None:
                self._number(value, call)
        if devices:
            self._by_device(devices)
        elif self._options:
            self._by_option()
        else:
            moves = [
                call for call in functions.calls
                if method(call) == "to_gpu" or functions.imports.full(call.func) in _BY_NUMBER
            ]  # fmt: skip
            tests = [
                program.text(above.test)
                for move in moves
                for above in program.above(move)
                if isinstance(above, cst.If | cst.IfExp)
            ]
            kind = '"naive"' if not moves else '"pure_nccl"'
            if any("available" in test for test in tests):
                chainer = self.head.imported("chainer", "import chainer")
                kind = f'"pure_nccl" if {chainer}.backends.cuda.available else "naive"'
            text = f"{self.name} = {self.package}.create_communicator({kind})\n"
            chosen = any(functions.imports.full(move.func) in _BY_NUMBER for move in moves)
            if moves and not chosen:
                chainer = self.head.imported("chainer", "import chainer")
                use = f"{chainer}.backends.cuda.get_device_from_id({self.name}.intra_rank).use()\n"
                inner = f"if {chainer}.backends.cuda.available:\n    {use}"
                text += inner if "available" in kind else use
            self.head.block(text.rstrip("\n"))
            self.edits.done(
                program.module.body[0],
                Message(
                    "port.do_communicator", "the communicator `{name}` joins the processes, and each takes its own GPU"
                ),
                text,
                name=self.name,
            )
        for literal in self._numbers:
            if self.sees(literal):
                self.edits.swap(literal, f"{self.name}.intra_rank")
                new = f"{self.name}.intra_rank"
                self.edits.done(
                    literal,
                    Message("port.do_device", "{old} → {new}: each process uses its own GPU"),
                    old=program.text(literal),
                    new=new,
                )
            else:
                self.edits.ask(
                    literal,
                    Message(
                        "port.ask_chainer_device",
                        "{text}: which GPU is that? Each process should use number {name}.intra_rank.",
                    ),
                    text=program.text(literal),
                    name=self.name,
                )

    def _device(self, call: cst.Call) -> cst.BaseExpression | None:
        full = self.functions.imports.full(call.func)
        last = full.rpartition(".")[2]
        if full in _BY_NUMBER or method(call) == "to_gpu":
            return call.args[0].value if call.args else None
        if last in ("StandardUpdater", "Evaluator") and full.startswith("chainer."):
            device = argument(call, "device")
        elif last == "concat_examples":
            device = argument(call, "device", 1)
        else:
            device = None
        return device.value if device is not None else None

    def _number(self, value: cst.BaseExpression, call: cst.Call) -> None:
        """Classify an expression for a GPU: a fixed number, an option, no GPU, or a question."""
        functions, program = self.functions, self.functions.program
        if program.text(value) in ("-1", "None"):
            return
        if isinstance(value, cst.Integer):
            self._numbers.append(value)
            return
        name = dotted(value)
        scope = functions.scope(call)
        origins = [origin for origin, _ in functions.origins(value, scope)] if name is not None else []
        if origins and all(isinstance(origin, cst.Integer) or program.text(origin) == "-1" for origin in origins):
            self._numbers += [
                origin for origin in origins if isinstance(origin, cst.Integer) and origin not in self._numbers
            ]  # fmt: skip
        elif origins and all(
            isinstance(origin, cst.Call) and functions.imports.full(origin.func) == "chainer.get_device"
            for origin in origins
        ):
            return
        elif name is not None and "." in name and self._parsed(name, scope) is not None and self._whole(name):
            self._options.setdefault(name, value)
        elif not (name is not None and self._of_option(origins)):
            self.edits.ask(
                call,
                Message(
                    "port.ask_chainer_device",
                    "{text}: which GPU is that? Each process should use number {name}.intra_rank.",
                ),
                text=program.text(value),
                name=self.name,
            )

    def _of_option(self, origins: list[cst.BaseExpression]) -> bool:
        """Return whether a name only passes on an option, which gets a new value."""
        names = [dotted(origin) for origin in origins]
        return bool(names) and all(name in self._options for name in names)

    def _parsed(self, name: str, scope: Scope) -> cst.CSTNode | None:
        """Return the statement that parses the command line into `args` of `args.gpu`."""
        functions = self.functions
        assigned = functions.assigned(name.split(".")[0], scope) or functions.assigned(name.split(".")[0], None)
        for assignment in assigned if len(assigned) == 1 else ():
            read = [value for value, _ in functions.origins(assignment.value, functions.scope(assignment.statement))]
            if read and all(isinstance(value, cst.Call) and method(value) == "parse_args" for value in read):
                return assignment.statement
        return None

    def _whole(self, name: str) -> bool:
        """Return whether an option is a whole number."""
        option = name.split(".")[-1]
        for call in self.functions.calls:
            if method(call) != "add_argument":
                continue
            words = [
                arg.value.value.strip("'\"") for arg in call.args
                if arg.keyword is None and isinstance(arg.value, cst.SimpleString)
            ]  # fmt: skip
            dest = argument(call, "dest")
            names = {word.lstrip("-").replace("-", "_") for word in words if word.startswith("--")}
            if dest is not None:
                names = {self.functions.program.text(dest.value).strip("'\"")}
            if option in names:
                kind, default = argument(call, "type"), argument(call, "default")
                texts = [self.functions.program.text(arg.value) if arg else "" for arg in (kind, default)]
                return texts[0] == "int" and texts[1].lstrip("-").isdigit()
        return False

    def _by_option(self) -> None:
        """Create the communicator after the command line is parsed."""
        (name, used), *more = self._options.items()
        statement = self._parsed(name, self.functions.scope(used))
        assert statement is not None
        if more:
            self.edits.ask(
                more[0][1],
                Message(
                    "port.ask_chainer_device",
                    "{text}: which GPU is that? Each process should use number {name}.intra_rank.",
                ),
                text=more[0][0],
                name=self.name,
            )
        text = (
            f'{self.name} = {self.package}.create_communicator("pure_nccl" if {name} >= 0 else "naive")\n'
            f"if {name} >= 0:\n    {name} = {self.name}.intra_rank\n"
        )
        self._after(statement, text)

    def _by_device(self, devices: list[cst.Call]) -> None:
        """Create the communicator after the device is chosen, and choose this process's device."""
        program = self.functions.program
        call = devices[0]
        parent = program.parents.get(call)
        target = dotted(parent.targets[0].target) if isinstance(parent, cst.Assign) else None
        text = program.text(call.args[0].value) if call.args else ""
        if text in ('"@numpy"', "'@numpy'", "-1"):
            text = f'{self.name} = {self.package}.create_communicator("naive")\n'
            self.head.block(text.rstrip("\n"))
            self.edits.done(
                call,
                Message(
                    "port.do_communicator", "the communicator `{name}` joins the processes, and each takes its own GPU"
                ),
                text,
                name=self.name,
            )
        elif len(devices) > 1 or target is None:
            self.head.block(f'{self.name} = {self.package}.create_communicator("naive")')
            self.edits.ask(
                call,
                Message(
                    "port.ask_chainer_device",
                    "{text}: which GPU is that? Each process should use number {name}.intra_rank.",
                ),
                text=program.text(call),
                name=self.name,
            )
        else:
            gpu = f'{target}.name.startswith("@cupy")'
            self._after(
                call,
                f'{self.name} = {self.package}.create_communicator("pure_nccl" if {gpu} else "naive")\n'
                f"if {gpu}:\n"
                f'    {target} = {program.text(call.func)}(f"@cupy:{{{self.name}.intra_rank}}")\n',
            )

    def _after(self, node: cst.CSTNode, text: str) -> None:
        statement = self.functions.program.statement(node)
        self._scope, self._line = self.functions.scope(statement), self.functions.program.line(statement)
        self.edits.put_after(statement, text)
        self.edits.done(
            statement,
            Message(
                "port.do_communicator", "the communicator `{name}` joins the processes, and each takes its own GPU"
            ),
            text,
            name=self.name,
        )
