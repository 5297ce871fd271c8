"""`hackathon logs`: the output of a run's ranks."""

import gc
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.options import named, runs_folder
from hackathon.cli.show import printable
from hackathon.text.messages import message
from hackathon.text.units import parse_moment

if TYPE_CHECKING:
    import re

    from hackathon.logs.collapse import CollapsedLines
    from hackathon.logs.merge import Line, LogReader
    from hackathon.runs.directory import RunDirectory

_ACCESS_TEXTS = {
    "link": "access.link",
    "kind": "access.kind",
    "owner": "access.owner",
    "outside": "access.outside",
}

REFUSED = 5
"""The most refused files of a run that are listed."""
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
            self.fail(message("logs.bad_ranks", value=value), param, ctx)


class MomentType(click.ParamType[float]):
    """A time, or how long ago it was: 10m, 14:30, 2026-11-21 14:30."""

    name = "10m|TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return value if isinstance(value, float) else parse_moment(value, time.time())
        except ValueError:
            self.fail(message("logs.bad_since", value=value), param, ctx)


@named("logs", help=message("help.logs_help"))
@click.argument("name", required=False, metavar="[RUN]")
@click.option("-f", "--follow", "following", is_flag=True, help=message("help.option_follow"))
@click.option("--rank", "chosen", type=Ranks(), multiple=True, help=message("help.option_rank"))
@click.option("--since", type=MomentType(), help=message("help.option_since"))
@click.option("--grep", metavar="REGEX", help=message("help.option_grep"))
@click.option("-n", "--lines", metavar="N", type=click.IntRange(min=0), help=message("help.option_lines"))
@click.option("--raw", is_flag=True, help=message("help.option_raw"))
@click.option("--stacks", is_flag=True, help=message("help.option_stacks"))
@click.option("--path", "only_path", is_flag=True, help=message("help.option_path"))
def command(
    name: str | None, following: bool, chosen: tuple[set[int], ...], since: float | None, grep: str | None,
    lines: int | None, raw: bool, stacks: bool, only_path: bool,
) -> None:  # fmt: skip
    from hackathon.logs.follow import log_files
    from hackathon.text.errors import RequestError

    if raw and (following or grep is not None or since is not None):
        raise RequestError("logs.raw_alone")
    if stacks and (raw or only_path or following or grep is not None or since is not None or lines is not None):
        raise RequestError("logs.stacks_alone")
    pattern = _compiled(grep) if grep is not None else None
    run = one_run(name)
    ranks = {rank for selection in chosen for rank in selection} if chosen else None
    if stacks:
        from hackathon.cli.run.stacks import show_stacks

        show_stacks(run, ranks)
        return
    paths = log_files(run.path, ranks)
    if ranks is not None and any(path.stem.startswith("rank-") for path in paths) and (only_path or raw):
        paths = [path for path in paths if path.stem.startswith("rank-")]
    if only_path:
        for path in paths:
            click.echo(path)
        return
    click.echo(message("cli.logs_of", run=run.id, folder=run.path / "logs"), err=True)
    tell_refused(run)
    if not paths and not following:
        click.echo(_nothing_of(run, ranks), err=True)
    elif raw:
        _raw(paths, lines)
    else:
        _merged(run, ranks, since, pattern, lines, following)


def tell_refused(run: "RunDirectory") -> None:
    """Warn on stderr of files of a run that exist and are refused, because they may contain the searched lines."""
    refused = run.refused()
    for refusal in refused[:REFUSED]:
        text = message("access.refused", path=run.path / refusal.name, what=message(_ACCESS_TEXTS[refusal.reason]))
        click.echo(f"{message('cli.warning')}: {printable(text)}", err=True)
    if len(refused) > REFUSED:
        click.echo(message("access.refused_more", count=len(refused) - REFUSED), err=True)


def _compiled(grep: str) -> "re.Pattern[str]":
    import re

    from hackathon.text.errors import RequestError

    try:
        return re.compile(grep)
    except re.error as error:
        raise RequestError("logs.bad_grep", pattern=grep, error=error) from None


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
            text = message("diagnosis.unreadable", path=path, what=error.strerror)
            click.echo(f"{message('cli.warning')}: {text}", err=True)
        output.flush()


def _merged(
    run: "RunDirectory", ranks: set[int] | None, since: float | None, pattern: "re.Pattern[str] | None",
    lines: int | None, following: bool,
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
        run.path, reader, ranks=ranks, lines=None if pattern and not following else last, since=since, ends=starts
    )
    groups: Iterable[CollapsedLines] = fold(_matching(stream, pattern))
    if pattern and not following and lines is not None:
        groups = deque(groups, maxlen=lines)
    printed = _print(groups, reader)
    if not printed and not following:
        if pattern is None and since is None and lines != 0:
            click.echo(_nothing_of(run, ranks), err=True)
        else:
            click.echo(message("logs.none_match"), err=True)
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


def _nothing_of(run: "RunDirectory", ranks: set[int] | None) -> str:
    """Return why there is no output of these ranks."""
    from hackathon.logs.collapse import ranks_text
    from hackathon.logs.follow import log_files
    from hackathon.logs.metrics import rank_of

    available = {rank_of(path) for path in log_files(run.path)} - {-1}
    if ranks is None or not available or ranks & available:
        return message("cli.no_logs")
    return message("logs.no_rank", ranks=ranks_text(ranks), known=ranks_text(available))


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


def one_run(name: str | None) -> "RunDirectory":
    """Return the run that a name means.

    Without a name the newest, or of its chain the segment that runs or ran last.
    """
    from hackathon.runs.chain import speaking
    from hackathon.runs.directory import find_run, find_runs
    from hackathon.runs.probe import newest
    from hackathon.text.errors import RequestError

    folder = runs_folder()
    if name is not None:
        return find_run(name, folder)
    run = newest(find_runs(folder))
    if run is None:
        raise RequestError("cli.no_runs", folder=folder)
    return speaking(run)


def _over(run: "RunDirectory") -> bool:
    from hackathon.cli.run.wait import is_final
    from hackathon.runs.status import status

    return is_final(status([run])[0])
