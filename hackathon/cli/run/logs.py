"""`hackathon logs`: the output of a run's ranks."""

import gc
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.options import completing, named, runs_folder
from hackathon.cli.show import tell_refused
from hackathon.text.messages import _
from hackathon.text.units import parse_moment

if TYPE_CHECKING:
    import re

    from hackathon.logs.collapse import CollapsedLines
    from hackathon.logs.merge import Line, LogReader
    from hackathon.runs.directory import RunDirectory

LAST = 50
"""The default number of lines of each log."""
AT_ONCE = 256
"""Lines that are written to the terminal at once."""


class Ranks(click.ParamType[set[int]]):
    """Ranks: 3, 0-3 or 0,2-5."""

    name = "N[-N]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> set[int]:
        from hackathon.logs.collapse import parse_ranks

        try:
            return value if isinstance(value, set) else parse_ranks(value)
        except ValueError:
            self.fail(_("{value!r} is not a rank such as 3, 0-3, or 0,4-7", value=value), param, ctx)


class MomentType(click.ParamType[float]):
    """A time, or how long ago it was: 10m, 14:30, 2026-11-21 14:30."""

    name = "10m|TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return value if isinstance(value, float) else parse_moment(value, time.time())
        except ValueError:
            self.fail(_("{value!r} is not a time such as 10m, 2h, 14:30, or 2026-11-21 14:30", value=value), param, ctx)


@named(
    "logs",
    help=_(
        "Show the output of all ranks of a run, merged by time; a line that several ranks print is shown once. "
        "Without a name: the newest run.\n"
        "\n"
        "  hackathon logs\n"
        "  hackathon logs k3x9 --rank 0 -f\n"
        "  hackathon logs --rank 0-3 --since 10m\n"
        "  hackathon logs --grep 'Error|WARN'\n"
        "  hackathon logs --stacks             where each rank is, when a job makes no progress\n"
        "  hackathon logs --path               where the files are"
    ),
)
@click.argument("name", required=False, metavar="[RUN]", shell_complete=completing("run"))
@click.option("-f", "--follow", "following", is_flag=True, help=_("Show new lines until the run has finished."))
@click.option(
    "--rank", "chosen", type=Ranks(), multiple=True, help=_("Only these ranks: 3, 0-3 or 0,4-7; may be repeated.")
)
@click.option("--since", type=MomentType(), help=_("Only lines written since: 10m, 14:30, 2026-11-21."))
@click.option("--grep", metavar="REGEX", help=_("Only lines that match the regular expression."))
@click.option(
    "-n",
    "--lines",
    metavar="N",
    type=click.IntRange(min=0),
    help=_("Number of last lines of each log (default 50; with --since, all); with --grep, of matching lines."),
)
@click.option("--raw", is_flag=True, help=_("Show the files unchanged (all lines unless -n is given)."))
@click.option(
    "--stacks",
    is_flag=True,
    help=_(
        "Show where the Python of each rank is; the ranks of a running job are asked. For a job that makes no progress."
    ),
)
@click.option(
    "--attempt", metavar="N", type=click.IntRange(1), help=_("The logs of an earlier attempt of a requeued job.")
)
@click.option("--path", "only_path", is_flag=True, help=_("Print only the paths of the files."))
def command(
    name: str | None, following: bool, chosen: tuple[set[int], ...], since: float | None, grep: str | None,
    lines: int | None, raw: bool, stacks: bool, attempt: int | None, only_path: bool,
) -> None:  # fmt: skip
    from hackathon.cli.named_runs import run_to_read
    from hackathon.logs.follow import log_files
    from hackathon.runs.chain import latest_run
    from hackathon.text.errors import RequestError

    if raw and (following or grep is not None or since is not None):
        raise RequestError(
            "logs.raw_alone",
            "--raw shows files unchanged and cannot be combined with --follow, --grep, or --since",
            hint="omit --raw or the other option",
        )
    if attempt is not None and (following or stacks):
        raise RequestError("logs.attempt_over", "--attempt shows logs of the past: no --follow, no --stacks")
    if stacks and (raw or only_path or following or grep is not None or since is not None or lines is not None):
        raise RequestError("logs.stacks_alone", "--stacks goes with --rank only", hint="omit the other options")
    pattern = _compiled(grep) if grep is not None else None
    run = latest_run(runs_folder()) if name is None else run_to_read(name, runs_folder())
    ranks = {rank for selection in chosen for rank in selection} if chosen else None
    if stacks:
        from hackathon.cli.run.stacks import show_stacks

        show_stacks(run, ranks)
        return
    folder = _folder_of(run, attempt)
    paths = log_files(run.path, ranks, folder)
    if ranks is not None and any(path.stem.startswith("rank-") for path in paths) and (only_path or raw):
        paths = [path for path in paths if path.stem.startswith("rank-")]
    if only_path:
        for path in paths:
            click.echo(path)
        return
    click.echo(_("run {run} ({folder})", run=run.id, folder=run.path / folder), err=True)
    tell_refused(run)
    if not paths and not following:
        click.echo(_nothing_of(run, ranks), err=True)
    elif raw:
        _raw(paths, lines)
    else:
        _merged(run, ranks, since, pattern, lines, following, folder)


def _compiled(grep: str) -> "re.Pattern[str]":
    import re

    from hackathon.text.errors import RequestError

    try:
        return re.compile(grep)
    except re.error as error:
        raise RequestError(
            "logs.bad_grep",
            "{pattern!r} is not a regular expression: {error}",
            hint="put a backslash before ( ) [ ] . * + ? to search for the character itself",
            pattern=grep,
            error=error,
        ) from None


def _raw(files: Iterable[Path], lines: int | None) -> None:
    import shutil
    import sys

    from hackathon.logs.follow import offset_of_last

    output = sys.stdout.buffer
    for path in files:
        click.echo(f"==> {path.name} <==", err=True)
        try:
            with path.open("rb") as stream:
                if lines is not None:
                    stream.seek(offset_of_last(path, lines))
                shutil.copyfileobj(stream, output)
        except OSError as error:
            text = _("{path} cannot be read: {what}", path=path, what=error.strerror)
            click.echo(f"{_('warning')}: {text}", err=True)
        output.flush()


def _merged(
    run: "RunDirectory", ranks: set[int] | None, since: float | None, pattern: "re.Pattern[str] | None",
    lines: int | None, following: bool, folder: str,
) -> None:  # fmt: skip
    from collections import deque

    from hackathon.logs.collapse import fold
    from hackathon.logs.follow import follow, log_files
    from hackathon.logs.merge import LogReader, complete_end, merged

    gc.enable()  # a log may be long
    reader = LogReader(run.path)
    starts = {path: complete_end(path) for path in log_files(run.path, ranks)} if following else None
    last = LAST if lines is None and since is None and (pattern is None or following) else lines
    stream = merged(
        log_files(run.path, ranks, folder),
        reader,
        ranks=ranks,
        lines=None if pattern and not following else last,
        since=since,
        ends=starts,
    )
    groups: Iterable[CollapsedLines] = fold(_matching(stream, pattern))
    if pattern and not following and lines is not None:
        groups = deque(groups, maxlen=lines)
    printed = _print(groups, reader)
    if not printed and not following:
        if pattern is None and since is None and lines != 0:
            click.echo(_nothing_of(run, ranks), err=True)
        else:
            click.echo(_("no line matches"), err=True)
    if not following:
        return
    paths = set(starts or ())
    for portion in follow(run.path, ranks=ranks, starts=starts, stop=lambda: _over(run)):
        if not paths.issuperset(path for path, _ in portion):
            paths.update(path for path, _ in portion)
            reader = LogReader(run.path)  # ranks that have started meanwhile
        reader.now = time.time()
        fresh = (reader.line(path, text) for path, text in portion)
        _print(fold(_matching((line for line in fresh if ranks is None or line.rank in ranks), pattern)), reader)


def _folder_of(run: "RunDirectory", attempt: int | None) -> str:
    """Return the folder of an attempt's logs in a run; `logs` holds those of the newest. Raises RequestError."""
    from hackathon.logs.follow import LOGS, earlier_logs
    from hackathon.text.errors import RequestError

    if attempt is None:
        return LOGS
    earlier = earlier_logs(run.path)
    if attempt in earlier:
        return earlier[attempt]
    if attempt == max(earlier, default=0) + 1:
        return LOGS
    raise RequestError(
        "logs.no_attempt",
        "run {run} has no logs of attempt {attempt}",
        hint="attempts with logs: {known}",
        run=run.id,
        attempt=attempt,
        known=", ".join(map(str, [*earlier, max(earlier, default=0) + 1])),
    )


def _nothing_of(run: "RunDirectory", ranks: set[int] | None) -> str:
    """Return why there is no output of these ranks."""
    from hackathon.logs.collapse import ranks_text
    from hackathon.logs.follow import log_files
    from hackathon.logs.metrics import rank_of

    available = {rank_of(path) for path in log_files(run.path)} - {-1}
    if ranks is None or not available or ranks & available:
        return _("no output yet")
    return _(
        "no output from rank {ranks}; ranks with a log: {known}", ranks=ranks_text(ranks), known=ranks_text(available)
    )


def _matching(lines: "Iterable[Line]", pattern: "re.Pattern[str] | None") -> "Iterator[Line]":
    for line in lines:
        if pattern is None or pattern.search(line.text):
            yield line


def _print(groups: "Iterable[CollapsedLines]", reader: "LogReader") -> bool:
    """Print lines as `10:00:00 [ranks 0-3] text`, and return whether there were any."""
    from itertools import islice

    several = len(set(reader.hosts.values())) != 1
    groups = iter(groups)
    printed = False
    while portion := [_shown(group, several) for group in islice(groups, AT_ONCE)]:
        click.echo("\n".join(portion))
        printed = True
    return printed


def _shown(group: "CollapsedLines", hosts: bool) -> str:
    from hackathon.cli.show import printable
    from hackathon.logs.collapse import ranks_text

    line = group.line
    if len(group.ranks) > 1:
        origin = f"ranks {ranks_text(group.ranks)}"
    elif line.rank is not None:
        origin = f"rank {line.rank} {line.host}".rstrip() if hosts else f"rank {line.rank}"
    else:
        origin = f"{line.source} {line.host}".rstrip() if hosts else line.source
    stamp = time.strftime("%H:%M:%S ", time.localtime(line.time)) if line.time is not None else ""
    text = f"{line.level} {line.text}" if line.level else line.text
    return f"{stamp}[{printable(origin)}] {text if text.isprintable() else printable(text)}".rstrip()


def _over(run: "RunDirectory") -> bool:
    from hackathon.runs.status import status
    from hackathon.runs.waiting import is_final

    return is_final(status([run])[0])
