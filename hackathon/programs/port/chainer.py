"""Chainer: one GPU → ChainerMN."""

from typing import Literal

import libcst as cst

from hackathon.programs.port.chainer_device import Communicator
from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions, Scope
from hackathon.programs.port.head import Head
from hackathon.programs.port.names import argument, dotted, method
from hackathon.programs.port.output import Output, lines_of_one
from hackathon.programs.port.rates.chainer_counts import Scattered, chainer_counts
from hackathon.programs.port.rates.rates import PortedProcesses, whole_rates
from hackathon.text.messages import Message

_ITERATORS = ("SerialIterator", "MultithreadIterator", "MultiprocessIterator")
_OF_ONE = {
    "LogReport", "PrintReport", "PrintReportNotebook", "PlotReport", "ProgressBar", "snapshot", "snapshot_object",
    "dump_graph", "DumpGraph", "VariableStatisticsPlot",
}  # fmt: skip
"""Extensions that write or display; only rank 0 gets them."""
_OF_ALL = {
    "Evaluator", "ExponentialShift", "InverseShift", "LinearShift", "MultistepShift", "PolynomialShift", "StepShift",
    "WarmupShift", "observe_lr", "observe_value", "FailOnNonNumber", "ParameterStatistics", "unchain_variables",
}  # fmt: skip
_SAVES = frozenset({"chainer.serializers.save_npz", "chainer.serializers.save_hdf5"})


def port_chainer(edits: Edits, functions: Functions) -> Literal["ported", "unknown"]:
    """Make the changes and ask the questions."""
    optimizers = [call for call in functions.calls if _of(functions, call, "chainer.optimizers.")]
    if not optimizers:
        edits.ask(
            None,
            Message(
                "port.no_optimizer_chainer",
                "not known: no optimizer of chainer.optimizers is made in this file. Give the program that trains.",
            ),
        )
        return "unknown"
    head = Head(edits, functions)
    port = _Chainer(edits, functions, Communicator(edits, functions, head))
    for call in optimizers:
        port.wrap(
            call,
            f"{port.comm.package}.create_multi_node_optimizer({{}}, {port.comm.name})",
            Message("port.do_optimizer", "{what}: gradients are averaged over the processes"),
        )
    port.data()
    port.evaluators()
    port.others()
    counts = chainer_counts(functions, port.trained, port.scattered)
    whole_rates(edits, functions, counts, PortedProcesses(f"{port.comm.name}.size", port.comm.sees))
    port.output()
    head.put()
    edits.note(
        None,
        Message(
            "port.note_chainer",
            "Start the program with mpirun; the recipe chainermn-mnist is a whole program. The batch size is that "
            "of one process: N processes make a batch N times as large. The first update only sends rank 0's "
            "weights to the others.",
        ),
    )
    return "ported"


def _of(functions: Functions, call: cst.Call, package: str) -> bool:
    full = functions.imports.full(call.func)
    return full.startswith(package) and full.rpartition(".")[2][:1].isupper()


class _Chainer:
    def __init__(self, edits: Edits, functions: Functions, comm: Communicator) -> None:
        self.edits = edits
        self.functions = functions
        self.program = functions.program
        self.comm = comm
        self.trained: list[cst.Call] = []
        """The iterators of the training."""
        self.scattered: Scattered = {}
        self._evaluators = {name for name, owner in functions.classes.items() if self._derived(owner)}

    def _derived(self, owner: cst.ClassDef) -> bool:
        full = [self.functions.imports.full(base.value) for base in owner.bases]
        return any(name.startswith("chainer.") and name.endswith(".Evaluator") for name in full)

    def _last(self, call: cst.Call) -> str:
        """Return the last part of the name of a Chainer function, "" for other calls."""
        full = self.functions.imports.full(call.func)
        return full.rpartition(".")[2] if full.startswith("chainer.") else ""

    def wrap(self, call: cst.Call, text: str, identifier: str) -> None:
        """Wrap an object in ChainerMN's counterpart, if the communicator is known there."""
        if not self.comm.sees(call):
            self.edits.ask(
                call,
                Message("port.ask_chainer_comm", "this line does not know the communicator: pass `{name}` to it?"),
                name=self.comm.name,
            )
            return
        self.edits.wrap(call, text)
        self.edits.done(call, identifier, text.replace("{}", "…"), what=self.program.text(call.func))

    # ---- data
    def data(self) -> None:
        """Give each process its share of the training data and of an Evaluator's data."""
        iterators = [call for call in self.functions.calls if self._last(call) in _ITERATORS]
        if not any(self._repeats(iterator) for iterator in iterators):
            self.edits.ask(
                self._first_optimizer(),
                Message(
                    "port.ask_chainer_iterator",
                    "no iterator of chainer.iterators was found: how does each process get its own share of the data?",
                ),
            )
        done: set[tuple[str, object]] = set()
        for call in iterators:
            if self._last(call) == "MultiprocessIterator":
                self.edits.ask(
                    call,
                    Message(
                        "port.ask_multiprocess",
                        "MultiprocessIterator forks after MPI has started, which may break MPI: start its "
                        "processes before, as the recipe chainermn-mnist does, or use MultithreadIterator?",
                    ),
                )
            trains = self._repeats(call)
            if trains is None:
                self.edits.ask(
                    call,
                    Message(
                        "port.ask_chainer_data",
                        "{data}: how does each process get its own share of it (chainermn.scatter_dataset)?",
                    ),
                    data=self.program.text(call),
                )
            elif trains or self._for_evaluator(call):
                if trains:
                    self.trained.append(call)
                self._scatter(call, trains, done)
            else:
                self.edits.note(
                    call,
                    Message(
                        "port.note_evaluation",
                        "Every process evaluates all of these data: the result is right, but not faster.",
                    ),
                )

    def _first_optimizer(self) -> cst.Call:
        return next(call for call in self.functions.calls if _of(self.functions, call, "chainer.optimizers."))

    def _repeats(self, call: cst.Call) -> bool | None:
        """Return whether an iterator repeats endlessly, as in training; None: not sure."""
        repeat = argument(call, "repeat", 2)
        return {"True": True, "False": False}.get(self.program.text(repeat.value)) if repeat is not None else True

    def _for_evaluator(self, call: cst.Call) -> bool:
        """Return whether an iterator is used only by an Evaluator."""
        parent = self.program.parents.get(call)
        name = dotted(parent.targets[0].target) if isinstance(parent, cst.Assign) else None
        scope = self.functions.scope(call)
        if name is None:
            outer = self.program.parents.get(parent) if parent is not None else None
            return isinstance(outer, cst.Call) and self._evaluates(outer)
        used = [
            self.program.parents.get(self.program.parents.get(use, use))
            for use in self._uses(name, scope)
            if self.program.line(use) > self.program.line(call)
        ]
        return bool(used) and all(isinstance(use, cst.Call) and self._evaluates(use) for use in used)

    def _evaluates(self, call: cst.Call) -> bool:
        return self._last(call) == "Evaluator" or dotted(call.func) in self._evaluators

    def _uses(self, name: str, scope: Scope) -> list[cst.BaseExpression]:
        """Return the uses of a name in a function."""
        kind: type[cst.Name | cst.Attribute] = cst.Attribute if "." in name else cst.Name
        around: cst.CSTNode = scope if scope is not None else self.program.module
        uses: list[cst.BaseExpression] = []
        for node in self.program.find(around, kind):
            parent = self.program.parents.get(node)
            keyword = isinstance(parent, cst.Arg) and parent.keyword is node
            part = isinstance(parent, cst.Attribute) and parent.attr is node
            if dotted(node) == name and not keyword and not part and not isinstance(parent, cst.AssignTarget):
                uses.append(node)
        return uses

    def _scatter(self, call: cst.Call, trains: bool, done: set[tuple[str, object]]) -> None:
        edits, functions, program = self.edits, self.functions, self.program
        dataset, scope = argument(call, "dataset", 0), functions.scope(call)
        name = dotted(dataset.value) if dataset is not None else None
        local = name is not None and (
            bool(functions.assigned(name, scope)) or (scope is not None and name in functions.parameters(scope))
        )
        statement = self._lifted(call, scope)
        if name is None or not local or statement is None:
            edits.ask(
                call,
                Message(
                    "port.ask_chainer_data",
                    "{data}: how does each process get its own share of it (chainermn.scatter_dataset)?",
                ),
                data=program.text(dataset.value) if dataset is not None else "?",
            )
            return
        if not self.comm.sees(statement):
            edits.ask(
                call,
                Message("port.ask_chainer_comm", "this line does not know the communicator: pass `{name}` to it?"),
                name=self.comm.name,
            )
            return
        inside = set(program.walk(statement))
        lambdas = any(
            isinstance(node, cst.Lambda)
            for value, _ in functions.origins(cst.Name(name) if "." not in name else dataset.value, scope)  # type: ignore[union-attr]
            for node in program.walk(value)
        )
        if lambdas or any(assignment.statement in inside for assignment in functions.assigned(name, scope)):
            edits.ask(
                call,
                Message(
                    "port.ask_chainer_data",
                    "{data}: how does each process get its own share of it (chainermn.scatter_dataset)?",
                ),
                data=name,
            )
            return
        if (name, scope) in done:
            return
        done.add((name, scope))
        later = [use for use in self._uses(name, scope) if program.line(use) > program.line(statement)]
        other = [use for use in later if use not in inside and not self._counted(use) and not self._iterates(use)]
        if other and not trains:
            edits.note(
                call,
                Message(
                    "port.note_evaluation",
                    "Every process evaluates all of these data: the result is right, but not faster.",
                ),
            )  # all of it is used again: every process keeps all of it
            return
        if other:
            edits.ask(
                other[0],
                Message("port.ask_chainer_share", "{data} is now the share of one process: is that meant here?"),
                data=name,
            )
        comm = self.comm.name
        more = "shuffle=True" if trains else "force_equal_length=False"
        scatter = f"{self.comm.package}.scatter_dataset({name} if {comm}.rank == 0 else None, {comm}, {more})"
        edits.put_before(statement, f"{name} = {scatter}\n")
        self.scattered[name, scope] = program.line(statement), trains
        edits.done(
            statement, Message("port.do_scatter", "rank 0 gives each process its share of {data}"), scatter, data=name
        )

    def _counted(self, node: cst.CSTNode) -> bool:
        """Return whether only the length of an object is used."""
        outer = self.program.parents.get(self.program.parents.get(node, node))
        return isinstance(outer, cst.Call) and dotted(outer.func) == "len"

    def _iterates(self, node: cst.CSTNode) -> bool:
        outer = self.program.parents.get(self.program.parents.get(node, node))
        return isinstance(outer, cst.Call) and self._last(outer) in _ITERATORS

    def _lifted(self, node: cst.CSTNode, scope: Scope) -> cst.CSTNode | None:
        """Return the statement of a function's own block that contains a node, also below `if __name__ == …`."""
        body: cst.CSTNode = scope.body if isinstance(scope, cst.FunctionDef) else scope or self.program.module
        statement = self.program.statement(node)
        while self.program.parents.get(statement) is not body:
            outer = self.program.parents.get(self.program.parents.get(statement, statement))
            if scope is None and isinstance(outer, cst.If) and "__name__" in self.program.text(outer.test):
                return statement
            if outer is None or isinstance(outer, cst.ClassDef):
                return None
            statement = self.program.statement(outer)
        return statement

    # ---- extensions
    def evaluators(self) -> None:
        """Average an Evaluator's results over all processes."""
        text = f"{self.comm.package}.create_multi_node_evaluator({{}}, {self.comm.name})"
        for call in self.functions.calls:
            if self._evaluates(call):
                self.wrap(
                    call, text, Message("port.do_evaluator", "{what}: its results are averaged over the processes")
                )

    def others(self) -> None:
        """Ask about what several processes cannot do together."""
        for call in self.functions.calls:
            last = self._last(call)
            if last in ("ParallelUpdater", "MultiprocessParallelUpdater"):
                self.edits.ask(
                    call,
                    Message(
                        "port.ask_parallel_updater",
                        "{call} uses several GPUs from one process: use StandardUpdater, since each process now "
                        "has one GPU?",
                    ),
                    call=last,
                )
            elif last == "EarlyStoppingTrigger":
                monitor = argument(call, "monitor", 1)
                if monitor is None or "validation" not in self.program.text(monitor.value):
                    self.edits.ask(
                        call,
                        Message(
                            "port.ask_break",
                            "do all processes leave the loop at the same time? Otherwise the others wait for ever.",
                        ),
                    )
            elif last == "snapshot" and argument(call, "autoload") is not None:
                self.edits.ask(
                    call,
                    Message(
                        "port.ask_autoload",
                        "only rank 0 writes snapshots: how do the other processes load it when they start again?",
                    ),
                )

    def output(self) -> None:
        """Let only rank 0 report, print and save."""
        for call in self.functions.calls:
            if self._extends(call) and self._extension(call) is None:
                self.edits.ask(
                    call,
                    Message("port.ask_extension", "{what}: do all processes need this extension, or rank 0 only?"),
                    what=self.program.text(call.args[0].value),
                )
        reports = lambda call: self._extends(call) and self._extension(call) == "one"  # noqa: E731
        output = Output(_SAVES, sees=self.comm.sees, also=reports)
        lines_of_one(self.edits, self.functions, f"{self.comm.name}.rank == 0", output)

    def _extends(self, call: cst.Call) -> bool:
        if method(call) != "extend" or not call.args or not isinstance(call.func, cst.Attribute):
            return False
        origins = [origin for origin, _ in self.functions.origins(call.func.value, self.functions.scope(call))]
        trainer = any(isinstance(origin, cst.Call) and self._last(origin) == "Trainer" for origin in origins)
        first = call.args[0].value
        return trainer or (isinstance(first, cst.Call) and self._last(first) in _OF_ONE | _OF_ALL)

    def _extension(self, call: cst.Call) -> str | None:
        """Return which processes get an extension: `one` or `all`; None: unknown."""
        owners = set()
        for value, _ in self.functions.origins(call.args[0].value, self.functions.scope(call)):
            last = self._last(value) if isinstance(value, cst.Call) else ""
            own = isinstance(value, cst.Call) and dotted(value.func) in self._evaluators
            owners.add("one" if last in _OF_ONE else "all" if last in _OF_ALL or own else None)
        return owners.pop() if len(owners) == 1 else None
