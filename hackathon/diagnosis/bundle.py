"""Pack what a tutor needs for a failure into one small file: a run's records and ends of logs, scrubbed."""

import io
import json
import os
import pwd
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon import __version__
from hackathon.diagnosis.scrub import scrub
from hackathon.diagnosis.sources import guarded_folder
from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular
from hackathon.text.messages import N_, _
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.diagnosis.examine import Diagnosis
    from hackathon.runs.directory import RunDirectory

ENDINGS = (".tar.gz", ".tgz")
"""Endings of a bundle's file name. A name without one may be a run's id given by mistake."""
TOTAL = 24 << 20
"""Bytes of all files together before compression."""
LOG, RECORD = 256 << 10, 64 << 10
"""Bytes kept from the end of a log and of another growing file; smaller files are packed whole."""
FILES = 600
"""Files packed per folder: with a thousand ranks, the first ones."""
_FOLDERS = {"client": RECORD, "events": RECORD, "env": LOG, "claim": RECORD, "logs": LOG, "metrics": RECORD,
            "telemetry": RECORD, "data": RECORD}  # fmt: skip
"""Folder of a run → bytes kept from the end of each file in it."""


@dataclass
class Bundle:
    """A bundle that was written."""

    path: Path
    size: int = 0
    taken: list[str] = field(default_factory=list)
    """Names of the files in it."""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """(name, why the file is missing or shortened)."""


def bundle_path(file: str, name: str) -> Path:
    """Return the path for a bundle: `file`, or `<name>.tar.gz` in the current directory.

    Raises RequestError for a file name without a bundle's ending: it may be a run's id.
    """
    if file and not file.endswith(ENDINGS):
        raise RequestError(
            "diagnosis.bundle_name",
            "{name!r} is not a valid name for a bundle",
            hint="the name must end in .tar.gz; the run comes before the option: hackathon diagnose RUN --bundle",
            name=file,
        )
    return Path(file) if file else Path(f"{name}-bundle.tar.gz")


def bundle_run(run: "RunDirectory", diagnosis: "Diagnosis", path: Path) -> Bundle:
    """Pack a run's request, job script, events, ends of logs and metrics, environment, status and findings.

    The program's files, data and checkpoints are left out. Raises RequestError when the file cannot be written.
    """
    bundle = Bundle(path)
    texts = _made_texts(diagnosis)
    sizes = _of_run(run.path, bundle)
    return _packed(bundle, texts, sizes, _owners(run.path))


def bundle_files(paths: Sequence[Path], names: Sequence[str], diagnosis: "Diagnosis", path: Path) -> Bundle:
    """Pack the ends of logs and their findings. Raises RequestError when the file cannot be written."""
    bundle = Bundle(path)
    sources: list[tuple[str, Path, int]] = []
    for number, (named, name) in enumerate(zip(paths, names, strict=True)):
        file = guarded_folder(named) if named.is_dir() else named
        inside = sorted(file.rglob("*"))[:FILES] if file.is_dir() else [file]
        for member in inside:
            if member.is_file():
                relative = (
                    member.relative_to(file) if file.is_dir() else Path(member.name if name != "-" else "stdin.log")
                )
                sources.append((f"files/{number}/{relative}", member, LOG))
    return _packed(bundle, _made_texts(diagnosis), sources, set())


def _made_texts(diagnosis: "Diagnosis") -> dict[str, str]:
    from hackathon.diagnosis.show import lines_of

    contents: dict[str, Any] = {
        "findings.json": {
            "findings": [finding.to_json() for finding in diagnosis.findings],
            "harmless": [finding.to_json() for finding in diagnosis.harmless],
            "unknown": [evidence.to_json() for evidence in diagnosis.unknown],
            "left_out": sorted(diagnosis.slow),
        },
        "bundle.json": {"made": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "hackathon": __version__, "run": diagnosis.run},
    }
    if diagnosis.status is not None:
        contents["status.json"] = diagnosis.status.to_json()
    texts = {name: json.dumps(value, ensure_ascii=False, indent=1) + "\n" for name, value in contents.items()}
    texts["diagnosis.txt"] = "\n".join(line for line, _ in lines_of(diagnosis, diagnosis.run)) + "\n"
    return texts


def _of_run(run: Path, bundle: Bundle) -> list[tuple[str, Path, int]]:
    """Return (name, file, bytes to keep from its end) of the files to pack from a run directory."""
    sources = []
    for entry in sorted(run.iterdir()):
        if entry.is_dir() and entry.name in _FOLDERS:
            inside = sorted((member for member in entry.rglob("*") if member.is_file()), key=_natural)
            sources += [(str(member.relative_to(run)), member, _FOLDERS[entry.name]) for member in inside[:FILES]]
            if len(inside) > FILES:
                bundle.left_out.append((f"{entry.name}/", _("{count} more files", count=len(inside) - FILES)))
        elif entry.is_dir():
            why = N_("the program itself") if entry.name == "source" else N_("not a record of the run")
            bundle.left_out.append((f"{entry.name}/", _(why)))
        elif entry.is_file():
            sources.append((entry.name, entry, LOG))
    # Small and telling files come first, so that they are in the bundle when not everything fits.
    order = {name: number for number, name in enumerate(("client", "events", "env", "logs", "metrics"), 1)}
    return sorted(sources, key=lambda source: order.get(source[0].split("/")[0], 9 if "/" in source[0] else 0))


def _packed(
    bundle: Bundle, texts: Mapping[str, str], sources: Sequence[tuple[str, Path, int]], users: set[str]
) -> Bundle:
    temporary = bundle.path.with_name(f".{bundle.path.name}.{os.getpid()}.{os.urandom(3).hex()}.tmp")
    folder = bundle.path.name.removesuffix(".tgz").removesuffix(".tar.gz")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream, tarfile.open(fileobj=stream, mode="w:gz") as archive:
                for name, text, moment in _texts(bundle, texts, sources):
                    _add(archive, f"{folder}/{scrub(name, users)}", scrub(text, users), moment)
                    bundle.taken.append(name)
            temporary.rename(bundle.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        bundle.size = bundle.path.stat().st_size
    except OSError as error:
        raise RequestError(
            "diagnosis.bundle_not_written",
            "{path} cannot be written: {what}",
            hint="choose another place: hackathon diagnose RUN --bundle /tmp/NAME.tar.gz",
            path=bundle.path,
            what=error.strerror or error,
        ) from error
    return bundle


def _texts(
    bundle: Bundle, texts: Mapping[str, str], sources: Sequence[tuple[str, Path, int]]
) -> Iterator[tuple[str, str, float]]:
    """Yield (name, text, modification time) of the files to pack; note the others in `bundle.left_out`."""
    for name, text in texts.items():
        yield name, text, time.time()
    total = 0
    for name, path, most in sources:
        if total >= TOTAL:
            bundle.left_out.append((name, _("the bundle is full")))
            continue
        try:
            size, moment = path.stat().st_size, path.stat().st_mtime
            with open_regular(path) as stream:
                stream.seek(max(0, size - most))
                data = stream.read(most)
        except OSError as error:
            bundle.left_out.append((name, error.strerror or str(error)))
            continue
        if b"\0" in data[:4096]:
            bundle.left_out.append((name, _("not text")))
            continue
        if size > most:
            # A line that lost its beginning may have lost the word that marks a secret.
            data = data[data.find(b"\n") + 1 :] if b"\n" in data else b""
            why = _("only the last {kept} of {size}", kept=format_size(len(data)), size=format_size(size))
            bundle.left_out.append((name, why))
        total += len(data)
        yield name, data.decode("utf-8", "replace"), moment


def _add(archive: tarfile.TarFile, name: str, text: str, moment: float) -> None:
    data = text.encode("utf-8", "replace")
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = len(data), int(moment), 0o600
    archive.addfile(entry, io.BytesIO(data))


def _owners(run: Path) -> set[str]:
    """Return the run owner's user name and the name of their home folder."""
    try:
        entry = pwd.getpwuid(run.stat().st_uid)
    except (KeyError, OSError):
        return set()
    return {entry.pw_name, Path(entry.pw_dir).name} - {"", "/"}


def _natural(path: Path) -> tuple[str, int, str]:
    digits = "".join(letter for letter in path.stem if letter.isdigit())[:9]
    return path.parent.name, int(digits or 0), path.name
