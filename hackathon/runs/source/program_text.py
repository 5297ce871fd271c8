"""The text of a program: the started file and its own imported modules. It is parsed, never run."""

import ast
import io
import os
import re
import sys
import tokenize
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from hackathon.access.guarded_path import GuardedPath
from hackathon.text.files import open_regular

_JOINS = re.compile(
    r"distribute|process_group|device_mesh|DistributedDataParallel|nccl|\bgloo|\bmpi|MPI|MultiWorker|ClusterSpec"
    r"|replica_device_setter|connect_to_cluster|parameter_server|communicator|\brpc\b|(?:^|\.)keras\.distribution\b"
    r"|torch\.ops\.c10d|wandb\.agent"
)
"""Names by which known packages, or an object passed in, join other processes; an import is enough."""
_REACHES = re.compile(
    r"(?:socket|socketserver|subprocess|multiprocessing|torch\.multiprocessing|importlib|runpy|ctypes|urllib|http|xmlrpc"
    r"|pty|exec|__import__)(?:\..*)?|os\.(?:system|popen|(?:exec|spawn|posix_spawn|fork)\w*)"
    r"|asyncio\.create_subprocess_\w+|numpy\.ctypeslib\.load_library"
)
"""Names by which a program may reach others in its own way, if it uses them."""
_HARMLESS = re.compile(
    r"socket\.(?:gethostname|getfqdn)|urllib\.(?:parse|error)\b.*|urllib\.request\.urlretrieve|http\.HTTPStatus\b.*"
    r"|(?:torch\.)?multiprocessing\.(?:cpu_count|set_start_method|get_start_method|freeze_support|current_process"
    r"|[gs]et_sharing_strategy)|importlib\.(?:metadata|resources|util\.find_spec)\b.*"
    r"|subprocess\.(?:PIPE|STDOUT|DEVNULL|CalledProcessError|TimeoutExpired|SubprocessError)"
)
"""Exceptions from them that reach no other process."""
_VARIABLE = re.compile(r"[A-Z0-9_]*(?:RANK|WORLD_SIZE|TF_CONFIG|PROCID|LOCALID)[A-Z0-9_]*")
"""Variables that give a process its rank."""
_STARTS = re.compile(
    r"subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)|os\.(?:system|popen)"
)
_ASKS = frozenset(
    {"git", "nvidia-smi", "rocm-smi", "nvcc", "hostname", "uname", "lscpu", "nproc", "free", "whoami", "date", "pip",
     "mkdir", "rm", "cp", "mv", "ls", "tar", "unzip", "gunzip", "wget", "curl"}
)  # fmt: skip
"""Commands that start no other program."""


def joining(tree: ast.Module, own: Callable[[str], str]) -> str:
    """Return the first name by which a file may reach other processes; empty without one.

    `own` returns the file of one of the program's own modules, which is checked separately; empty for other modules.
    """
    code = _Code(tree, own)
    return code.imported[0] if code.imported else next(code.used(tree), "")


def join_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names in a file by which processes join each other, and the variables by which one learns who it is."""
    code = _Code(tree, lambda name: "")
    yield from code.imported
    for name in code.used(tree):
        if _JOINS.search(name) or _VARIABLE.fullmatch(name):
            yield name


class _Code:
    def __init__(self, tree: ast.Module, own: Callable[[str], str]) -> None:
        self.imported: list[str] = []
        """Names that join a group by themselves, although the import may be unused."""
        self.aliases: dict[str, str] = {}
        self.defined: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    self._bind(bound, alias.name if alias.asname else bound, alias.name, bool(own(alias.name)))
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                for alias in node.names:
                    full = f"{module}.{alias.name}" if module else alias.name
                    self._bind(alias.asname or alias.name, full, full, bool(own(full) or (module and own(module))))
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self.defined.add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self.defined.add(node.name)
            elif isinstance(node, ast.arg):
                self.defined.add(node.arg)

    def _bind(self, bound: str, meant: str, name: str, own: bool) -> None:
        if own:
            self.defined.add(bound)
            return
        self.aliases[bound] = meant
        if _JOINS.search(name) or (bound == "*" and _REACHES.fullmatch(name)):
            self.imported.append(name)

    def used(self, top: ast.AST) -> Iterator[str]:
        """Yield the names that are used to reach others."""
        waiting = [top]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Call) and self._harmless(node):
                waiting += [*node.args, *node.keywords]
            elif isinstance(node, ast.Attribute | ast.Name):
                name, base = self.full(node)
                waiting += [base] if base else []
                if _JOINS.search(name) or (_REACHES.fullmatch(name) and not _HARMLESS.fullmatch(name)):
                    yield name
            elif isinstance(node, ast.Constant):
                if isinstance(node.value, str) and _VARIABLE.fullmatch(node.value):
                    yield node.value
            elif isinstance(node, ast.keyword) and node.arg and _VARIABLE.fullmatch(node.arg):
                yield node.arg
            else:
                if isinstance(node, ast.Call) and self.full(node.func)[0] == "getattr" and len(node.args) > 1:
                    yield from _JOINS.findall(_text(node.args[1]))
                waiting += ast.iter_child_nodes(node)

    def full(self, node: ast.expr) -> tuple[str, ast.expr | None]:
        """Return a name as it was imported, without the file's own first part, and the object whose attribute it is.

        The object is None for a plain name.
        """
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        base = None if isinstance(node, ast.Name) else node
        if isinstance(node, ast.Name) and (node.id in self.aliases or node.id not in self.defined):
            parts.append(self.aliases.get(node.id, node.id))
        return ".".join(reversed(parts)), base

    def _harmless(self, call: ast.Call) -> bool:
        """Return whether a call starts a command that only queries something, or fetches or moves files."""
        if not _STARTS.fullmatch(self.full(call.func)[0]) or not call.args:
            return False
        command = call.args[0]
        if isinstance(command, ast.Call) and isinstance(command.func, ast.Attribute) and command.func.attr == "split":
            command = command.func.value
        if isinstance(command, ast.List | ast.Tuple) and command.elts:
            word = _text(command.elts[0])
        else:
            word = "" if re.search(r"[;&|`$()\n]", _text(command)) else _text(command).strip().partition(" ")[0]
        return word.rpartition("/")[2] in _ASKS


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


LARGEST, FILES, TOTAL = 1 << 20, 200, 8 << 20
"""Limits: bytes of a file, files of a program, bytes of all of them."""
RUNTIME = "hackathon_runtime.py"
LONE_PACKAGES = frozenset(
    {
        "torch", "torchvision", "torchaudio", "numpy", "scipy", "sklearn", "pandas", "PIL", "cv2", "skimage", "h5py",
        "matplotlib", "tqdm", "yaml", "chainer", "cupy", "tensorflow", "keras", "timm", "einops", "hackathon_runtime",
        "torchinfo", "torchmetrics",
    }
)  # fmt: skip
"""Packages that join no process group by themselves; a training program uses at least one of them."""
AIDS = frozenset(
    {
        "wandb", "tensorboard", "tensorboardX", "omegaconf", "psutil", "rich", "loguru", "absl", "mlflow",
        "albumentations", "seaborn", "joblib", "termcolor", "fire", "click", "dotenv", "pynvml", "easydict", "toml",
        "packaging", "attr", "six", "future", "prettytable", "tabulate", "xarray", "netCDF4", "h5netcdf", "cftime",
        "zarr", "numcodecs", "pyarrow", "lmdb", "nibabel", "pydicom", "SimpleITK", "tifffile", "imageio", "rasterio",
        "soundfile", "librosa", "sympy", "networkx", "torchsummary", "thop",
    }
)  # fmt: skip
"""Packages for reading data, keeping records or talking to people; they join no group either."""


@dataclass(frozen=True)
class ProgramFile:
    """One file of a program."""

    name: str
    """Relative to the program's folder."""
    text: str
    r"""With `\n` as line ends; empty when it is unreadable."""
    whole: bool = True
    """Whether all of it was read."""

    @cached_property
    def parsed(self) -> "ast.Module | tuple[int, str]":
        """Its syntax tree, or (line, reason) without one."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings about invalid escapes concern the program's author
                return ast.parse(self.text)
        except SyntaxError as error:
            return error.lineno or 1, str(error.msg)
        except (ValueError, RecursionError, MemoryError) as error:
            return 1, str(error) or type(error).__name__

    @property
    def tree(self) -> ast.Module | None:
        """Its syntax tree; None if it is not valid Python 3."""
        return self.parsed if isinstance(self.parsed, ast.Module) else None

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Its lines without their ends."""
        return tuple(self.text.split("\n"))


def program_files(folder: Path, *entries: str) -> Iterator[ProgramFile]:
    """Yield the started files and, from each, its own imported modules; each file once.

    Files are read on demand. The last one is not `whole` when a limit is reached.
    """
    names: set[str] = set()
    waiting, left = list(reversed(entries)), TOTAL
    while waiting:
        name = waiting.pop()
        if name in names:
            continue
        names.add(name)
        file = _read(folder, name, min(LARGEST, left))
        left -= len(file.text)
        if len(names) > FILES:
            file = ProgramFile(name, "", whole=False)
        yield file
        if not file.whole:
            return
        if not is_runtime(name):
            waiting += [own for own, _ in imports(folder, file) if own]


def is_runtime(name: str) -> bool:
    """Return whether a file is the toolkit's runtime module: it measures and finds ranks, but joins no group."""
    return name.rpartition("/")[2] == RUNTIME


def imports(folder: Path, file: ProgramFile) -> Iterator[tuple[str, str]]:
    """Yield (own file or nothing, module) of all imports of a file.

    `from a import b` yields `a`, and `a.b` if that is one of the program's own modules.
    """
    beside = file.name.rpartition("/")[0]
    for node in ast.walk(file.tree) if file.tree else ():
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield own_file(folder, beside, alias.name), alias.name
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            inner = [f"{module}.{alias.name}" if module else alias.name for alias in node.names]
            own_files = [(own, module) for module in inner if (own := own_file(folder, beside, module))]
            yield from own_files
            if module:
                own = own_file(folder, beside, module)
                if own or not own_files:
                    yield own, module
            elif node.level and not own_files:
                yield from (("", module) for module in inner)


@dataclass(frozen=True)
class ProgramText:
    """The readable files of a program."""

    files: tuple[str, ...]
    """Paths below the source folder: the started file and its own imports."""
    unknown: str
    """A package, name or file that may reach other processes or cannot be judged; empty without one."""

    @classmethod
    def read(cls, folder: Path, entry: str) -> "ProgramText | None":
        """Follow the imports of a file below a folder; None when it is unreadable."""
        names: list[str] = []
        learns = False
        for file in program_files(folder, entry):
            if not file.text.strip() and file.name == entry:
                return None
            names.append(file.name)
            if is_runtime(file.name):
                continue
            if not file.whole:
                return cls(tuple(names), file.name)
            if file.tree is None:
                return cls(tuple(names), file.name)
            beside = file.name.rpartition("/")[0]
            word = joining(file.tree, partial(own_file, folder, beside))
            if word:
                return cls(tuple(names), word)
            for own, module in imports(folder, file):
                root = module.partition(".")[0]
                if not own and root in LONE_PACKAGES:
                    learns = True
                elif not own and root not in AIDS and root not in sys.stdlib_module_names:
                    return cls(tuple(names), module)
        return cls(tuple(names), "" if learns else entry)


ORIGIN = "# ported from {path} by hackathon"
"""Last line of a ported program whose name does not say what it was made of."""


def text_lines(folder: Path, name: str) -> tuple[str, ...]:
    """Return the lines of a text file beneath a folder, up to LARGEST bytes; none when it is unreadable."""
    return _read(folder, name, LARGEST).lines


def inside(folder: Path, name: str) -> bool:
    """Return whether a name leads to a regular file beneath a folder, without a link out of it."""
    path = folder / name
    try:
        if not path.is_file():
            return False
        if isinstance(folder, GuardedPath):
            return True  # a guarded path opens beneath its directory
        top = os.path.realpath(folder)
        return os.path.commonpath([top, os.path.realpath(path)]) == top
    except (OSError, ValueError):
        return False


def own_file(folder: Path, beside: str, module: str) -> str:
    """Return the file of a program's own module, beside the importing file or at the top; empty for others."""
    path = module.replace(".", "/")
    for start in dict.fromkeys((f"{beside}/" if beside else "", "")):
        for name in (f"{start}{path}.py", f"{start}{path}/__init__.py"):
            if inside(folder, name):
                return name
    return ""


def _read(folder: Path, name: str, most: int) -> ProgramFile:
    if not inside(folder, name):
        return ProgramFile(name, "")
    try:
        with open_regular(folder / name) as stream:
            raw = stream.read(most + 1)
    except (OSError, ValueError):
        return ProgramFile(name, "")
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(raw).readline)[0]
        text = raw[:most].decode(encoding, "replace")
    except (SyntaxError, LookupError, ValueError, UnicodeError):
        text = raw[:most].decode("utf-8", "replace")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return ProgramFile(name, text, whole=len(raw) <= most)
