"""Correct a script where that is safe without asking."""

from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.programs.scripts.findings import Edit
from hackathon.programs.scripts.lint import language_of, lint
from hackathon.programs.scripts.look import whole
from hackathon.programs.scripts.source import ScriptText
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

_PASSES = 8
"""Maximal passes: a corrected line may reveal the next mistake in it."""


def fixed(source: ScriptText, dialect: str | None = None, cluster: "Cluster | None" = None) -> tuple[ScriptText, int]:
    """Return the script with all safe corrections, and their number."""
    count = 0
    language = language_of(source, dialect, cluster)
    source = whole(source, language) if language else source
    for _ in range(_PASSES):
        report = lint(source, dialect, cluster)
        todo = [finding for finding in report.findings if finding.edits]
        if not todo:
            break
        changed: dict[int, tuple[str, ...]] = {}
        for finding in todo:
            if _together(changed, finding.edits, source):
                count += 1
        source = ScriptText(source.name, tuple(_lines(source, changed)))
    return source, count


def _together(changed: dict[int, tuple[str, ...]], edits: tuple[Edit, ...], source: ScriptText) -> bool:
    """Apply the edits of a finding unless another one has changed these lines; insertions after a line add up."""
    new = dict(changed)
    for edit in edits:
        old = source.lines[edit.line - 1]
        before = new.get(edit.line, (old,))
        if edit.lines[:1] == (old,) and before[:1] == (old,):
            new[edit.line] = (*before, *edit.lines[1:])
        elif before == (old,):
            new[edit.line] = edit.lines
        else:
            return False
    changed.update(new)
    return True


def _lines(source: ScriptText, changed: dict[int, tuple[str, ...]]) -> list[str]:
    return [text for number, line in enumerate(source.lines, 1) for text in changed.get(number, (line,))]


def write_fixed(path: Path, text: str) -> Path:
    """Write `NAME.fixed.EXT` beside a script and return it; raise RequestError when that file exists."""
    target = path.with_name(f"{path.stem}.fixed{path.suffix}")
    put(target, text)
    return target


def exists(target: Path) -> RequestError:
    """Return the error for a file that is already there."""
    return RequestError(
        "lint.exists",
        "{path} already exists; it was not changed",
        hint="Move or delete it, then run the command again.",
        path=target,
    )


def put(target: Path, text: str) -> None:
    """Write a new file; raise RequestError when it exists or is not writable."""
    try:
        with target.open("xb") as stream:
            stream.write(text.encode("utf-8", "surrogateescape"))
    except FileExistsError:
        raise exists(target) from None
    except OSError as error:
        raise RequestError(
            "lint.not_written", "cannot write {path}: {reason}", path=target, reason=error.strerror or error
        ) from None
