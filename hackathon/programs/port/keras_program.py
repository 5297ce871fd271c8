"""Keras: the calls that compile and fit a model, their arguments, and the shares of the data."""

from typing import Literal

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import DEPTH, Functions, Scope
from hackathon.programs.port.head import Head
from hackathon.programs.port.names import argument, dotted, method
from hackathon.programs.port.output import Output
from hackathon.text.messages import Message

_FIT = {
    "epochs", "callbacks", "batch_size", "validation_data", "validation_split", "steps_per_epoch", "verbose",
}  # fmt: skip
_OF_ONE = {"ModelCheckpoint", "TensorBoard", "CSVLogger", "ProgbarLogger", "RemoteMonitor", "TqdmCallback"}
"""Callbacks that write or display."""
_OF_ALL = {"EarlyStopping", "ReduceLROnPlateau", "LearningRateScheduler", "History"}
"""Callbacks that change the training: each process has them, and all decide by the same averaged numbers."""
SAVES = frozenset({
    "tensorflow.saved_model.save", "tensorflow.keras.utils.plot_model", "keras.utils.plot_model",
    "tensorflow.keras.models.save_model", "keras.models.save_model", "joblib.dump",
})  # fmt: skip


def keras_name(functions: Functions, node: cst.BaseExpression) -> str:
    """Return the part after `keras.` of a Keras object's full name, "" for other objects."""
    full = functions.imports.full(node)
    for start in ("tensorflow.keras.", "keras.", "tf_keras."):
        if full.startswith(start):
            return full[len(start) :]
    return ""


class KerasProgram:
    """The calls of a Keras program that matter to a port."""

    def __init__(self, edits: Edits, functions: Functions) -> None:
        self.edits = edits
        self.functions = functions
        self.program = functions.program
        self.compiles = [call for call in functions.calls if self._compiles(call)]
        compiled = {dotted(call.func.value) for call in self.compiles if isinstance(call.func, cst.Attribute)}
        self.fits = [call for call in functions.calls if self._fits(call, compiled)]
        self.tapes = [
            block for block in self.program.everywhere(cst.With) if any(self.is_tape(item.item) for item in block.items)
        ]

    def _compiles(self, call: cst.Call) -> bool:
        if method(call) != "compile" or self.functions.imports.full(call.func).startswith("re."):
            return False
        named = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        return bool(named & {"optimizer", "loss", "metrics"}) or len(call.args) > 1

    def _fits(self, call: cst.Call, compiled: set[str | None]) -> bool:
        if method(call) != "fit" or not isinstance(call.func, cst.Attribute):
            return False
        named = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        return bool(named & _FIT) or dotted(call.func.value) in compiled

    def is_tape(self, node: cst.BaseExpression) -> bool:
        """Return whether an expression creates a GradientTape."""
        return isinstance(node, cst.Call) and self.functions.imports.full(node.func) == "tensorflow.GradientTape"

    def plain(self, call: cst.Call) -> bool:
        """Return whether all arguments of `fit` are known, and those after the fourth are keywords."""
        return not any(arg.star for arg in call.args) and sum(arg.keyword is None for arg in call.args) <= 4

    def bases(
        self, value: cst.BaseExpression, scope: Scope, depth: int = 2 * DEPTH
    ) -> list[tuple[cst.BaseExpression, Scope]]:
        """Return the calls that a data set starts from, below `.shuffle(…).batch(…)`, also through names."""
        if depth < 0:
            return [(value, scope)]
        bases: list[tuple[cst.BaseExpression, Scope]] = []
        for origin, origin_scope in self.functions.origins(value, scope):
            below = origin
            while isinstance(below, cst.Call) and isinstance(below.func, cst.Attribute) and not self._starts(below):
                below = below.func.value
            if below is not origin and dotted(below) is not None and not isinstance(below, cst.Call):
                deeper = [] if dotted(below) == dotted(value) else self.bases(below, origin_scope, depth - 1)
                bases += deeper or ([] if dotted(below) == dotted(value) else [(below, origin_scope)])
            elif below is not origin and self.functions.target(below) is not None:  # type: ignore[arg-type]
                bases += self.bases(below, origin_scope, depth - 1)
            else:
                bases.append((below, origin_scope))
        return list(dict.fromkeys(bases))

    def batched(self, value: cst.BaseExpression, scope: Scope, depth: int = DEPTH - 1) -> list[cst.Call]:
        """Return the `.batch(…)` calls of a data set."""
        batches: list[cst.Call] = []
        if depth < 0:
            return batches
        for origin, origin_scope in self.functions.origins(value, scope):
            below = origin
            while isinstance(below, cst.Call) and isinstance(below.func, cst.Attribute):
                if method(below) == "batch":
                    batches.append(below)
                below = below.func.value
            if below is not origin and dotted(below) not in (None, dotted(value)) and isinstance(below, cst.Name):
                batches += self.batched(below, origin_scope, depth - 1)
        return list(dict.fromkeys(batches))

    def _starts(self, call: cst.Call) -> bool:
        full = self.functions.imports.full(call.func)
        return full.startswith(("tensorflow.", "keras.", "tensorflow_datasets."))

    def is_slices(self, node: cst.BaseExpression) -> bool:
        """Return whether a data set starts from arrays, whose length and order all processes know."""
        return isinstance(node, cst.Call) and self.functions.imports.full(node.func) in (
            "tensorflow.data.Dataset.from_tensor_slices", "tensorflow.data.Dataset.range",
        )  # fmt: skip

    def once(self, scope: Scope) -> bool:
        """Return whether a function is called from one place at most."""
        return scope is None or len(self.functions.calls_of(scope)) <= 1

    def arrays(self, call: cst.Call) -> list[cst.BaseExpression] | None:
        """Return the array arguments of `fit`, [] for a data set; None: not sure."""
        arguments = [argument(call, "x", 0), argument(call, "y", 1), argument(call, "sample_weight")]
        if arguments[0] is None:
            return None
        if arguments[1] is None:
            return []
        values = [arg.value for arg in arguments if arg is not None]
        for value in values:
            array = value.value if isinstance(value, cst.Subscript) else value
            if dotted(array) is None:
                return None
            for origin, _ in self.functions.origins(array, self.functions.scope(call)):
                if isinstance(origin, cst.List | cst.Dict | cst.Tuple | cst.ListComp | cst.GeneratorExp):
                    return None
        return values

    # ---- callbacks
    def kind_of_callback(self, value: cst.BaseExpression, scope: Scope) -> Literal["one", "all"] | None:
        """Return which processes get a callback: `one` or `all`; None: not sure."""
        owners: set[Literal["one", "all"] | None] = set()
        for origin, _ in self.functions.origins(value, scope):
            name = (dotted(origin.func) or "").rpartition(".")[2] if isinstance(origin, cst.Call) else ""
            own = self.functions.classes.get(name)
            if name in _OF_ONE:
                owners.add("one")
            elif name in _OF_ALL or (own is not None and "stop_training" not in self.program.text(own)):
                owners.add("all")
            else:
                owners.add(None)
        return owners.pop() if len(owners) == 1 else None

    def literal(self, value: cst.BaseExpression, scope: Scope) -> cst.List | None:
        """Return the list literal of an argument, or of the name that is the argument."""
        origins = [origin for origin, _ in self.functions.origins(value, scope)]
        return origins[0] if len(origins) == 1 and isinstance(origins[0], cst.List) else None

    def quiet(self, guard: str) -> None:
        """Let only one process show the progress of `fit`, `evaluate` and `predict`."""
        first = None
        for call in self.functions.calls:
            name = method(call)
            if name not in ("fit", "evaluate", "predict") or (name == "fit" and call not in self.fits):
                continue
            receiver = call.func.value if isinstance(call.func, cst.Attribute) else call.func
            fitted = {dotted(fit.func.value) for fit in self.fits if isinstance(fit.func, cst.Attribute)}
            is_keras = call in self.fits or dotted(receiver) in fitted or argument(call, "verbose") is not None
            alone = self.edits.guarded & {call, *self.program.above(call)}
            if not is_keras or not self.plain(call) or alone:
                continue
            verbose = argument(call, "verbose")
            text = self.program.text(verbose.value) if verbose is not None else "1"
            if verbose is not None and (text in ("0", "False") or "rank" in text.lower()):
                continue
            text = f"({text})" if " if " in text else text
            self.edits.put_argument(call, "verbose", f"{text} if {guard} else 0")
            first = first or call
        if first is not None:
            self.edits.done(
                first, Message("port.do_progress", "only rank 0 shows a progress bar"), f"verbose=… if {guard} else 0"
            )

    def output(self, harmless: frozenset[str]) -> Output:
        """Return what counts as output in Keras programs."""
        methods = frozenset({"save", "save_weights", "savefig", "save_pretrained"})
        shows = lambda call: method(call) == "summary"  # noqa: E731
        return Output(SAVES, methods, harmless, shows)

    def ask_fixed(self) -> None:
        """Ask about code that ties a program to one GPU, or to all GPUs of one machine."""
        functions, program = self.functions, self.program
        for call in functions.calls:
            full = functions.imports.full(call.func)
            last = full.rpartition(".")[2]
            if last in ("MirroredStrategy", "OneDeviceStrategy", "multi_gpu_model"):
                self.edits.ask(
                    call,
                    Message(
                        "port.ask_mirrored",
                        "{call} uses the GPUs of one machine from one process: remove it, since each process now "
                        "has one GPU?",
                    ),
                    call=last,
                )
            elif last == "set_visible_devices" or (full == "tensorflow.device" and "gpu" in program.text(call).lower()):
                self.edits.ask(
                    call,
                    Message("port.ask_device", '{text}: a fixed GPU. Should each process use its own one, "cuda"?'),
                    text=program.text(call),
                )
            elif full.startswith(("keras.ops", "keras.distribution", "keras.random")):
                self.edits.ask(
                    call,
                    Message(
                        "port.ask_keras_3",
                        "{what} belongs to Keras 3, which Horovod 0.28 and fit() over several workers do not work "
                        "with: does the program also run with Keras 2?",
                    ),
                    what=full,
                )
            elif method(call) == "train_on_batch":
                self.edits.ask(
                    call,
                    Message(
                        "port.ask_train_on_batch",
                        "which batches does each process take here? All processes need the same number of them, "
                        "and the weights of rank 0 before the first.",
                    ),
                )
            elif method(call) in ("fit_generator", "flow", "flow_from_directory", "flow_from_dataframe"):
                self.edits.ask(
                    call,
                    Message(
                        "port.ask_keras_data",
                        "{data}: how does each process get its own share, with the same number of batches for all?",
                    ),
                    data=program.text(call.func),
                )
        for literal in program.everywhere(cst.SimpleString):
            parent = program.parents.get(program.parents.get(program.parents.get(literal, literal), literal))
            if literal.value[1:-1] == "CUDA_VISIBLE_DEVICES" and isinstance(parent, cst.Subscript):
                self.edits.ask(
                    literal,
                    Message(
                        "port.ask_visible",
                        "CUDA_VISIBLE_DEVICES set here hides GPUs from the other processes: remove it?",
                    ),
                )
            if literal.value[1:-1] == "KERAS_BACKEND":
                self.edits.ask(
                    literal,
                    Message(
                        "port.ask_keras_3",
                        "{what} belongs to Keras 3, which Horovod 0.28 and fit() over several workers do not work "
                        "with: does the program also run with Keras 2?",
                    ),
                    what="KERAS_BACKEND",
                )


class Shares:
    """The part of the data for each process: equally long for all, because one that ends early would wait forever."""

    def __init__(self, keras: KerasProgram, head: Head, hvd: str) -> None:
        self.keras = keras
        self.head = head
        self.hvd = hvd

    def array(self, value: cst.BaseExpression) -> None:
        """Take a process's rows of an array."""
        name = self.head.named("share")
        self.head.definition(
            f"def {name}(data):\n"
            f"    count = len(data) // {self.hvd}.size() * {self.hvd}.size()  # the same for all processes\n"
            f"    return data[{self.hvd}.rank() : count : {self.hvd}.size()]"
        )
        self._divide(value, name, value)

    def dataset(self, value: cst.BaseExpression, scope: Scope) -> bool:
        """Take a process's samples at the start of a data set; if unsure, ask and return False."""
        bases = self.keras.bases(value, scope)
        sure = bool(bases) and all(
            self.keras.is_slices(base) and self.keras.once(origin_scope) for base, origin_scope in bases
        )
        if not sure:
            self.keras.edits.ask(
                value,
                Message(
                    "port.ask_keras_data",
                    "{data}: how does each process get its own share, with the same number of batches for all?",
                ),
                data=self.keras.program.text(value),
            )
            return False
        name = self.head.named("share_of_dataset")
        self.head.definition(
            f"def {name}(data):\n"
            f"    count = len(data) // {self.hvd}.size() * {self.hvd}.size()  # the same for all processes\n"
            f"    return data.take(count).shard({self.hvd}.size(), {self.hvd}.rank())"
        )
        for base, _ in bases:
            if base not in self.keras.edits.replaced:
                self._divide(base, name, value)
        return True

    def _divide(self, origin: cst.BaseExpression, function: str, value: cst.BaseExpression) -> None:
        """Call a function on the origin of a value."""
        self.keras.edits.wrap(origin, f"{function}({{}})")
        self.keras.edits.done(
            origin,
            Message("port.do_sampler", "each process gets its share of {data}"),
            f"{function}(…)",
            data=self.keras.program.text(value),
        )
