"""Detect code that may reach other processes. Comments and plain strings do not count."""

import ast
import re
from collections.abc import Callable, Iterator

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
