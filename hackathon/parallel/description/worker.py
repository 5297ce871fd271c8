"""The child process of `hackathon plan model.py:build`: the only process that runs the user's code.

It receives one JSON object, and writes graph.json and an answer into a folder of its parent's.
"""

import importlib.util
import json
import os
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hackathon.text.messages import Message, texts_of

MOST_FILES = 2000
OF_SHELLS = {"_", "SHLVL", "PWD", "OLDPWD"}
"""Variables that shells change with every command; the folder itself is part of a graph's cache key."""


class VariablesRead:
    """Names of environment variables that were looked up, so that a later call can detect changes.

    Look-ups by C libraries are not noticed.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()
        kind, names = type(os.environ), self._names
        plain, listed = kind.__getitem__, kind.__iter__

        def read(self: Any, key: Any) -> Any:
            if isinstance(key, (str, bytes)):
                names.add(os.fsdecode(key))
            return plain(self, key)

        def names_of_all(self: Any) -> Any:
            names.update(os.fsdecode(key) for key in self._data)
            names.add("")
            return listed(self)

        kind.__getitem__, kind.__iter__ = read, names_of_all  # type: ignore[method-assign]

    def found(self) -> list[str]:
        """Return the names; an empty one means that all names were listed."""
        return sorted(self._names - OF_SHELLS)


class FilesRead:
    """The user's files that were opened for reading or imported, so that a later call can detect changes."""

    def __init__(self) -> None:
        self._opened: set[str] = set()
        self._created: set[str] = set()
        names = ("stdlib", "platstdlib", "purelib", "platlib")
        self._apart = tuple({str(Path(sysconfig.get_path(scheme)).resolve()) + "/" for scheme in names})
        self._apart += (str(Path(__file__).resolve().parents[2]) + "/", "/proc/", "/sys/", "/dev/", "/etc/", "/usr/")
        library = Path(sysconfig.get_path("stdlib")).resolve()
        # Python searches these first, but hardly any installation has them
        self._apart += (str(library.parent / f"python{sys.version_info[0]}{sys.version_info[1]}.zip"),)
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or len(self._opened) > MOST_FILES:
            return
        path, _, flags = args
        reads = isinstance(flags, int) and flags & os.O_ACCMODE != os.O_WRONLY
        if reads and isinstance(path, (str, os.PathLike)) and isinstance(name := os.fspath(path), str):
            paths = self._created if flags & os.O_EXCL else self._opened
            paths.add(os.path.join(os.getcwd(), name))  # noqa: PTH109, PTH118 - called for each open()

    def found(self) -> list[str]:
        """Return their paths: sources of modules, and files that were read or were missing.

        Compiled modules count by their sources. Temporary files, which this process created and removed, do not count.
        """
        sources = [str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())]
        # torch gives its generated modules a name without a folder
        sources = [source for source in sources if Path(source).is_absolute() or Path(source).is_file()]
        removed = {path for path in self._created if not Path(path).exists()}
        paths = {os.path.realpath(path) for path in (*(self._opened - removed), *sources)}
        return sorted(
            path for path in paths if not path.startswith(self._apart) and not path.endswith(".pyc")
            and (Path(path).is_file() or not Path(path).exists())
        )[:MOST_FILES]  # fmt: skip


def packages() -> list[str]:
    """Return a file of each imported installed package; another version has another one."""
    files = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if "." not in name and file and any(f"{os.sep}{folder}{os.sep}" in file for folder in ("site-packages",)):
            files.add(os.path.realpath(file))
    version = sys.modules.get("torch.version")
    if version is not None and version.__file__:
        files.add(os.path.realpath(version.__file__))
    return sorted(files)


def main(request: Mapping[str, Any]) -> None:
    """Answer a request: `answer.json` next to `graph.json` in `folder`."""
    folder = Path(request["folder"])
    files = FilesRead()
    variables: list[str] = []
    try:
        import torch
    except ImportError as error:
        answer = {
            "refused": Message(
                "capture.no_torch",
                "{python} cannot import torch: {words}",
                hint="Activate the environment in which your model runs, and try again.",
            ),
            "values": {"python": sys.executable, "words": str(error)[:200]},
        }
    else:
        from hackathon.parallel.description.refusal import CaptureRefusal

        read = VariablesRead()  # torch's look-ups so far are not choices of the user's program
        try:
            graph, about = captured(request)
        except CaptureRefusal as error:
            answer = {"refused": error.id, **texts_of(error.id), "values": error.values}
        else:
            (folder / "graph.json").write_text(json.dumps(graph, allow_nan=False))
            answer = {"told": about, "torch": torch.__version__}
            variables = read.found()
    answer |= {"files": files.found(), "packages": packages(), "variables": variables}
    temporary = folder / ".answer.json"
    temporary.write_text(json.dumps(answer))
    temporary.rename(folder / "answer.json")


def captured(request: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return graph.json and its answer. Raises CaptureRefusal."""
    import torch

    from hackathon.parallel.description.built import build, load, quiet
    from hackathon.parallel.description.refusal import CaptureRefusal, refusal_of, refuse_hooks

    path = Path(request["path"])
    function = load(path, request["function"], request.get("shared", ()))
    built = build(function, path)
    if request.get("samples"):
        built = built.resized(int(request["samples"]))
    torch.manual_seed(0)
    try:
        refuse_hooks(built.model)
    except CaptureRefusal as error:
        return _of_modules(function, request, error)
    try:
        with quiet():
            return _of_operators(function, built, request)
    except Exception as error:
        refusal = refusal_of(error, built.model, str(path))
    if refusal.id == "capture.no_loss":
        raise refusal
    return _of_modules(function, request, refusal)


def _of_operators(
    function: Any, built: Any, request: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    import torch

    from hackathon.parallel.description.built import Capture
    from hackathon.parallel.description.planning import measured_graph
    from hackathon.parallel.description.refusal import CaptureRefusal
    from hackathon.parallel.fidelity.self_check import self_check
    from hackathon.parallel.live.capture import NoLossError

    try:
        capture = Capture.of(built)
    except NoLossError as error:
        raise CaptureRefusal(
            Message(
                "capture.no_loss",
                "The model returns {kind}: neither a scalar loss nor an output that contains one",
                hint="Add `loss` to the dictionary: a function of the output and the last of `args`. Or let the model "
                "return its loss.",
            ),
            kind=str(error),
        ) from error
    device, peaks = _device(request)
    checked = self_check(capture, lambda: _with_numbers(function, request), device=torch.device(device or "cpu"))
    graph, basis = measured_graph(capture.captured, peaks, device, float(request["seconds"]))
    checks = {"check": checked.as_json(), "checkpointed": len(capture.traced.checkpointed)}
    about = {**basis, "samples": built.samples, **checks}
    return {**graph, "capture": about}, about


def _of_modules(function: Any, request: Mapping[str, Any], why: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a graph of the modules of a chain, for a model that cannot be captured for the reason `why`.

    Raises `why`, a CaptureRefusal, for a model that is not a chain.
    """
    from hackathon.parallel.description.built import build
    from hackathon.parallel.description.children import as_chain
    from hackathon.parallel.description.planning import measured_modules

    path = Path(request["path"])
    outline = build(function, path)
    if as_chain(outline) is None:
        raise why
    device, peaks = _device(request)

    graph, basis = measured_modules(
        outline, lambda: _with_numbers(function, request), why, peaks, device and "cpu", float(request["seconds"]),
        str(path),
    )  # fmt: skip
    return {**graph, "capture": basis}, basis


def _with_numbers(function: Any, request: Mapping[str, Any]) -> Any:
    """Return the function's result on the CPU."""
    from hackathon.parallel.description.built import build

    built = build(function, Path(request["path"]), "cpu")
    return built.resized(int(request["samples"])) if request.get("samples") else built


def _device(request: Mapping[str, Any]) -> tuple[str | None, Any]:
    """Return where to measure (None: nowhere), and the peaks of the device that the times are for."""
    import torch

    from hackathon.parallel.description.measure import DevicePeaks

    if request.get("peaks"):
        return None, DevicePeaks(request["peaks"]["flops_per_s"], float(request["peaks"]["bytes_per_s"]))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.empty(1, device=device)  # the probe uses a GPU only if it is in use
    spec = importlib.util.spec_from_file_location("hackathon_device_probe", request["probe"])
    assert spec is not None and spec.loader is not None
    probe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(probe)
    peaks = probe.device_peaks()
    return device, DevicePeaks(peaks["flops_per_s"], float(peaks["bytes_per_s"]))
