"""Settings that may make a program faster on one device, as data; some need lines in the program.

A row is tried if the program declares its parameter, with the type of the row, or if an environment variable alone is
enough. Nothing is guessed: undeclared options are listed with the lines that they need.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from hackathon.config.recipe import Parameter
from hackathon.config.records import Scalar
from hackathon.runs.source.program_text import program_files

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources

Changes = Literal["nothing", "rounding", "training"]
"""Effect of a setting besides the speed: nothing, rounding of numbers, or another training."""


@dataclass(frozen=True)
class KnownOption:
    """A known option: its settings, and the lines that a program without it needs."""

    name: str
    kind: str
    """Its area: `precision`, `layout`, `compile`, `optimizer`, `loader`, `memory`, `threads`, `batch`."""
    changes: Changes
    parameter: str = ""
    """The declared parameter for it."""
    values: tuple[Scalar, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables for it, in programs of `frameworks`."""
    gpu: bool = False
    """Whether it can only matter on a GPU."""
    frameworks: tuple[str, ...] = ()
    """Empty: any."""
    lines: str = ""
    """Lines that a program without it needs, in one of `frameworks`."""
    other: tuple[str, ...] = ()
    """Further parameters with the same meaning: if one is declared, no lines are proposed."""
    words: tuple[str, ...] = ()
    """Words that show that a program has the lines already."""


TORCH = ("torch",)
KNOWN = (
    KnownOption("bf16", "precision", "rounding", "amp", ("bf16",), frameworks=TORCH, other=("precision",),
                words=("autocast",),
                lines="with torch.autocast(device.type, dtype=torch.bfloat16):\n"
                "    loss = loss_of(model(images), labels)"),
    KnownOption("bf16 parameters", "precision", "rounding", "precision", ("bf16",)),
    KnownOption("fp16", "precision", "rounding", "amp", ("fp16",), gpu=True, frameworks=TORCH, other=("precision",),
                words=("GradScaler",),
                lines="scaler = torch.amp.GradScaler()\nwith torch.autocast('cuda', dtype=torch.float16):\n"
                "    loss = loss_of(model(images), labels)\nscaler.scale(loss).backward()\nscaler.step(optimizer)\n"
                "scaler.update()"),
    KnownOption("TF32", "precision", "rounding", "tf32", (True,), {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"}, gpu=True,
                frameworks=TORCH),
    KnownOption("channels_last", "layout", "rounding", "channels_last", (True,), frameworks=TORCH,
                words=("channels_last",),
                lines="model = model.to(memory_format=torch.channels_last)\n"
                "images = images.to(memory_format=torch.channels_last)"),
    KnownOption("torch.compile", "compile", "rounding", "compile", (True,), frameworks=TORCH,
                words=("torch.compile",),
                lines="model = torch.compile(model)"),
    KnownOption("fused optimizer", "optimizer", "rounding", "fused", (True,), frameworks=TORCH,
                words=("fused=",),
                lines="optimizer = torch.optim.SGD(model.parameters(), lr=lr, fused=True)"),
    KnownOption("loader workers", "loader", "nothing", "workers", (2, 4), frameworks=TORCH, other=("num_workers",),
                words=("num_workers",),
                lines="loader = DataLoader(data, batch_size=64, num_workers=4, persistent_workers=True)"),
    KnownOption("loader workers", "loader", "nothing", "num_workers", (2, 4)),
    KnownOption("iterator", "loader", "nothing", "iterator", ("multithread", "multiprocess"), frameworks=("chainer",),
                words=("MultiprocessIterator", "MultithreadIterator"),
                lines="train = chainer.iterators.MultiprocessIterator(train, 64, n_processes=4)"),
    KnownOption("pinned memory", "loader", "nothing", "pin_memory", (True,), gpu=True, frameworks=TORCH,
                words=("pin_memory",),
                lines="loader = DataLoader(data, batch_size=64, num_workers=4, pin_memory=True)\n"
                "images = images.to(device, non_blocking=True)"),
    KnownOption("cudnn.benchmark", "layout", "rounding", "cudnn_benchmark", (True,), gpu=True, frameworks=TORCH,
                words=("cudnn.benchmark",),
                lines="torch.backends.cudnn.benchmark = True"),
    KnownOption("CUDA graphs", "compile", "rounding", "cuda_graphs", (True,), gpu=True, frameworks=TORCH,
                words=("CUDAGraph", "cuda.graph", "reduce-overhead"),
                lines="model = torch.compile(model, mode='reduce-overhead')"),
    KnownOption("XLA", "compile", "rounding", "jit", (True,), {"TF_XLA_FLAGS": "--tf_xla_auto_jit=2"}, gpu=True,
                frameworks=("tensorflow",)),
    KnownOption("GPU threads", "threads", "nothing", "", (), {"TF_GPU_THREAD_MODE": "gpu_private"}, gpu=True,
                frameworks=("tensorflow",)),
    KnownOption("mixed precision", "precision", "rounding", "mixed_precision", (True,), frameworks=("tensorflow",),
                other=("amp",), words=("mixed_precision",),
                lines="tf.keras.mixed_precision.set_global_policy('mixed_bfloat16')"),
    KnownOption("mixed16", "precision", "rounding", "dtype", ("mixed16",), gpu=True, frameworks=("chainer",),
                words=("mixed16",),
                lines="chainer.global_config.dtype = chainer.mixed16"),
    KnownOption("cuDNN autotune", "layout", "rounding", "autotune", (True,), gpu=True, frameworks=("chainer",),
                words=("autotune",),
                lines="chainer.global_config.autotune = True"),
    KnownOption("allocator", "memory", "nothing", "", (), {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
                gpu=True, frameworks=TORCH),
    KnownOption("malloc keeps memory", "memory", "nothing", "", (),
                {"MALLOC_TRIM_THRESHOLD_": "1073741824", "MALLOC_MMAP_THRESHOLD_": "1073741824"},
                frameworks=("torch", "tensorflow", "chainer")),
    KnownOption("one thread", "threads", "rounding", "", (), {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
                frameworks=("torch", "chainer")),
)  # fmt: skip
BATCH, RATE, SEED = ("batch_size", "batch"), ("lr", "learning_rate"), ("seed",)
"""Parameter names for the batch, the learning rate and the seed."""
SAVERS: Mapping[str, tuple[str, Scalar]] = {
    "amp": ("bf16", "bf16"), "precision": ("bf16", "bf16"), "recompute": ("recompute", True),
    "checkpointing": ("checkpointing", True),
}  # fmt: skip
"""Parameter → (name, value) that lowers the memory of a step."""


@dataclass(frozen=True)
class Option:
    """One option: settings as for `scale --vary`, `NAME` or `env.VARIABLE` → value."""

    name: str
    kind: str
    changes: Changes
    settings: Mapping[str, Scalar]
    work: float = 1.0
    """Work of one of its steps, in steps of the unchanged program: 2 with twice the batch."""

    @property
    def group(self) -> tuple[str, ...]:
        """Its settings' names: of several options with one group only the best one is combined with others."""
        return tuple(sorted(self.settings))


@dataclass(frozen=True)
class NotTried:
    """An option that was not tried, and why."""

    name: str
    why: Literal["lines", "gpu", "there"]
    """It needs lines in the program, or a GPU; or the program has such lines already."""
    lines: str = ""


def options_for(sources: "Sources", request: "Request") -> tuple[list[Option], list[NotTried]]:
    """Return the options to try in a program, and those not to try. `request`: for a single process."""
    from hackathon.jobs.resolve import declared_parameters

    declared = declared_parameters(sources.project, sources.recipe)
    text = _text(sources, request)
    tried: list[Option] = []
    left: list[NotTried] = []
    for option in KNOWN:
        ours = not option.frameworks or request.framework in option.frameworks
        parameter = declared.get(option.parameter)
        if parameter is not None:
            values = [value for value in option.values if takes(parameter, value)]
            fresh = [value for value in values if request.parameters.get(option.parameter) != value]
            settings: list[Mapping[str, Scalar]] = [{option.parameter: value} for value in fresh]
        elif option.variables and ours:
            already = all(request.variables.get(name) == value for name, value in option.variables.items())
            fresh_names = {f"env.{name}": value for name, value in option.variables.items()}
            settings = [] if already or _is_idle(option, request) else [fresh_names]
        elif option.lines and ours and not any(name in declared for name in option.other):
            present = any(word in text for word in option.words)
            left.append(NotTried(option.name, "there") if present else NotTried(option.name, "lines", option.lines))
            continue
        else:
            continue
        if settings and option.gpu and not request.gpus_per_node:
            left.append(NotTried(option.name, "gpu"))
            continue
        tried += [Option(_name(setting), option.kind, option.changes, setting) for setting in settings]
    tried += _larger_batch(declared, request)
    return tried, left


def asked_for(texts: "tuple[str, ...]", sources: "Sources") -> list[Option]:
    """Return the options in `NAME=VALUE,…` texts, one for each value. Raises the errors of `read_axes`.

    Their effect is unknown: their losses are compared. Another batch changes the training, also if it is requested.
    """
    from hackathon.jobs.grid import OPTIONS, read_axes
    from hackathon.jobs.resolve import resolve
    from hackathon.text.errors import RequestError

    options = []
    for axis in read_axes(texts, sources):
        if axis.name.removeprefix("options.") in OPTIONS:
            raise RequestError(
                "speedup.not_an_option",
                "{name} is an option of the toolkit; measure parameters of the program or env.VARIABLE",
                name=axis.name,
            )
        if axis.name in BATCH:
            base = resolve(sources).parameters.get(axis.name)
            options += [
                Option(_name({axis.name: value}), "batch", "training", {axis.name: value}, _work(value, base))
                for value in axis.values
            ]
            continue
        kind = next((option.kind for option in KNOWN if option.parameter == axis.name), "other")
        changes: Changes = next((option.changes for option in KNOWN if option.parameter == axis.name), "rounding")
        settings = [{axis.name: value} for value in axis.values]
        options += [Option(_name(setting), kind, changes, setting) for setting in settings]
    return options


def named(names: tuple[str, ...], declared: Mapping[str, Parameter], request: "Request") -> str | None:
    """Return the first of these names that is a declared parameter with a value; None without one."""
    return next((name for name in names if name in declared and name in request.parameters), None)


def _text(sources: "Sources", request: "Request") -> str:
    """Return the text of the program: the started file, its own imported modules, and shared files."""
    entry = next((word for word in request.command if (sources.folder / word).is_file()), None)
    if entry is None:
        return ""
    files = {file.name: file.text for file in program_files(sources.folder, entry)}
    shared = [path for name, path in sources.shared.items() if name not in files and path.suffix == ".py"]
    texts = [next(program_files(path.parent, path.name)).text for path in shared]
    return "\n".join([*files.values(), *texts])


def _larger_batch(declared: Mapping[str, Parameter], request: "Request") -> Iterator[Option]:
    """Yield twice the batch, with twice the learning rate if there is one (Goyal et al. 2017)."""
    batch, rate = named(BATCH, declared, request), named(RATE, declared, request)
    value = request.parameters.get(batch or "")
    if batch is None or not isinstance(value, int) or isinstance(value, bool) or not takes(declared[batch], 2 * value):
        return
    settings: dict[str, Scalar] = {batch: 2 * value}
    of_rate = request.parameters.get(rate or "")
    if rate is not None and isinstance(of_rate, (int, float)) and takes(declared[rate], 2 * of_rate):
        settings[rate] = 2 * of_rate
    yield Option(_name(settings), "batch", "training", settings, work=2.0)


def _work(batch: object, base: object) -> float:
    """Return the work of a step with a batch relative to another; 1 if one of them is not a size."""
    if not isinstance(batch, int) or not isinstance(base, int) or batch <= 0 or base <= 0:
        return 1.0
    return batch / base


def takes(parameter: Parameter, value: Scalar) -> bool:
    """Return whether a parameter accepts a value of its type whose meaning is known."""
    from hackathon.jobs.parameters import read_value
    from hackathon.text.errors import RequestError

    expected = {"bool": bool, "int": int, "float": (int, float), "str": str}[parameter.type]
    if not isinstance(value, expected) or (isinstance(value, bool) and parameter.type != "bool"):  # type: ignore[arg-type]
        return False
    if parameter.type == "str" and not parameter.choices:
        return False  # any text is accepted, but the meaning of this one is unknown
    try:
        return read_value("", parameter, value) == value
    except RequestError:
        return False


def _is_idle(option: KnownOption, request: "Request") -> bool:
    return option.name == "one thread" and request.threads <= 1


def _name(settings: Mapping[str, Scalar]) -> str:
    from hackathon.jobs.settings import settings_text

    return settings_text(settings)
