"""Record what a run was created with, and list what differs now."""

import getpass
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hackathon
from hackathon.config import plug_ins
from hackathon.runs.directory import RunDirectory
from hackathon.runs.record import RunRecord
from hackathon.runs.source import snapshot
from hackathon.runs.source.selection import printable
from hackathon.text.errors import RequestError
from hackathon.text.files import read_json
from hackathon.text.json_fields import mapping_of
from hackathon.text.messages import N_, _

_OF_PROJECT = {
    "changed": N_("changed in the project since: {files}"),
    "gone": N_("removed from the project since: {files}"),
    "new": N_("added to the project since: {files}"),
}
_OF_COPY = {
    "changed": N_("changed by the job itself in the run's copy: {files}"),
    "gone": N_("missing from the run's copy: {files}"),
}

SHOWN_FILES = 5


def facts() -> dict[str, Any]:
    """Return the facts stored when a run is created: user, host, versions of the toolkit and of Python."""
    return {
        "user": user(),
        "host": os.uname().nodename,
        "toolkit_version": hackathon.__version__,
        "python": platform.python_version(),
    }


def user() -> str:
    """Return the user's login name, or the number if the system has no name for it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def differences(run: RunDirectory) -> list[str]:
    """Return the differences between a run as it was submitted and now, one per line; empty without any.

    Compared: the versions of the toolkit and of packages; the recorded hashes with the project's current files and with
    the run's own copy, which its job may have changed.
    """
    lines = []
    record = run.record()
    then = record.toolkit_version
    if then and then != hackathon.__version__:
        lines.append(_("toolkit: then {then}, now {now}", then=then, now=hackathon.__version__))
    lines += _packages(record)
    source = read_json(run.path / "source.json")
    source = source if isinstance(source, dict) else {}
    if not source:
        lines.append(_("its source was not recorded"))
    if run.client("origin").get("kind") != "crate":  # a program from a crate has no project folder
        lines += _files(source, run, record)
    if source and not record.in_place:
        lines += _own_copy(run, source)
    return lines


def _packages(record: RunRecord) -> list[str]:
    """Return the packages that contributed to a run and have another version now, or are missing."""
    lines = []
    for entry, then in mapping_of(record.raw.get("plug_ins")).items():
        kind, __, name = str(entry).partition(" ")
        try:
            plug_in = plug_ins.find(kind, name)
            now = plug_in.package if plug_in is not None else "–"
        except RequestError as error:
            now = error.message
        if now != then:
            values = {"entry": printable(str(entry)), "then": printable(str(then)), "now": now}
            lines.append(_("package of {entry}: then {then}, now {now}", **values))
    return lines


def _files(source: dict[str, Any], run: RunDirectory, record: RunRecord) -> list[str]:
    """Return the differences between recorded hashes and a project's current folder."""
    if not source:
        return []
    try:
        exclude = [str(pattern) for pattern in record.raw.get("exclude") or ()]
        shared_folders = mapping_of(record.raw.get("shared"))
        shared = {
            name: target for name, target in shared_folders.items() if isinstance(target, str) and "\0" not in target
        }
        now = snapshot.take(
            Path(record.source),
            runs_folder=run.path.parent,
            in_place=record.in_place,
            exclude=exclude,
            shared=shared,
        )
    except RequestError as error:
        return [_("the project's files in {folder} cannot be compared: {what}", folder=record.source, what=error)]
    hashes = {name: entry.sha256 for name, entry in now.files.items()}
    return _compare(dict(source.get("files", {})), hashes, _OF_PROJECT)


def _own_copy(run: RunDirectory, source: dict[str, Any]) -> list[str]:
    """Return what a job changed among the files of its own snapshot; new files are its output, not a difference."""
    then = {**source.get("files", {}), **source.get("added", {})}
    now = {}
    for name in then:
        try:
            now[name] = snapshot.read_entry(run.path / "source", name).sha256
        except RequestError:
            continue
    return _compare(then, now, _OF_COPY)


def _compare(then: dict[str, str], now: dict[str, str], texts: Mapping[str, str]) -> list[str]:
    lines = []
    for kind, names in (
        ("changed", sorted(name for name in then if name in now and now[name] != then[name])),
        ("gone", sorted(name for name in then if name not in now)),
        ("new", sorted(name for name in now if name not in then)),
    ):
        if names:
            listed = ", ".join(printable(name) for name in names[:SHOWN_FILES])
            more = f" +{len(names) - SHOWN_FILES}" if len(names) > SHOWN_FILES else ""
            lines.append(_(texts[kind], files=listed + more))
    return lines
