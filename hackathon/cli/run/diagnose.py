"""`hackathon diagnose`: find the cause of a failure, and what to do about it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.board.board_io import board_if_any, echo_similar, solved_before
from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, named, runs_folder
from hackathon.text.messages import N_, _, ngettext

if TYPE_CHECKING:
    from hackathon.config.rule import Rule
    from hackathon.diagnosis.examine import Diagnosis
    from hackathon.diagnosis.findings import Finding
    from hackathon.index.held_rules import HeldRules
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.states import RunStatus

UNREAD = 5
"""Files that a warning lists."""


@named(
    "diagnose",
    help=_(
        "Find out what went wrong in a run, a study, or any log: where it shows, why, and how to fix it. The "
        "cause is shown last. Without a name: the newest run, or its study.\n"
        "\n"
        "  hackathon diagnose\n"
        "  hackathon diagnose k3m9x2qa\n"
        "  hackathon diagnose slurm-1234.out rank-*.log     logs of one job that was started by hand\n"
        "  mpirun -np 4 python train.py 2>&1 | hackathon diagnose -\n"
        "  hackathon diagnose k3m9x2qa --bundle             one file for a tutor"
    ),
)
@click.argument("targets", nargs=-1, metavar="[RUN|STUDY|FILE]...", shell_complete=completing("result"))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
@click.option(
    "--bundle",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help=_("Also pack records and the ends of logs for a tutor, without secrets and names (.tar.gz)."),
)
def command(targets: tuple[str, ...], as_json: bool, bundle: str | None) -> None:
    import gc

    from hackathon.diagnosis.cache import MOST_RUNS, diagnose_runs
    from hackathon.jobs.settings import settings_text

    gc.enable()
    runs, files, names = chosen(targets)
    if bundle is not None:
        _refuse_bundle(bundle, len(runs) + bool(files))
    rules = _usable_rules()
    diagnoses, left = diagnose_runs(runs, rules, most=MOST_RUNS if len(targets) <= 1 else None)
    if files:
        from hackathon.diagnosis.examine import diagnose_files

        diagnoses.append(diagnose_files(files, names, rules=rules))
        _tell_unread(files, names)
    tell_slow(diagnoses)
    if bundle is not None:
        _make_bundle(bundle, runs, files, names, diagnoses[0])
    _tell_closed(runs)
    board = board_if_any()
    if as_json:
        from hackathon.diagnosis.examine import diagnoses_json

        similar = [post.to_json() for diagnosis in diagnoses for post in solved_before(diagnosis, board)]
        echo_json({**diagnoses_json(diagnoses), "similar": similar})
        return
    if not diagnoses:
        click.echo(_("None of these runs failed."))
    for number, diagnosis in enumerate(diagnoses):
        if number:
            click.echo()
        echo_similar(solved_before(diagnosis, board))  # first, because the cause is printed last on a terminal
        of = next((settings_text(run.settings) for run in runs if run.id == diagnosis.run), "")
        show(diagnosis, diagnosis.run[-8:] if diagnosis.run else " ".join(names), of)
        _point_at_stacks(diagnosis, next((run for run in runs if run.id == diagnosis.run), None))
    if left:
        click.echo(
            ngettext(
                "{count} more failed run is not shown; name one to see it",
                "{count} more failed runs are not shown; name one to see it",
                left,
                count=left,
            ),
            err=True,
        )


def chosen(targets: Sequence[str]) -> "tuple[list[RunDirectory], list[Path], list[str]]":
    """Return the runs that targets name, and the files with their display names.

    Without targets: the newest run, or its study. A target is a path, else a study's id or a run's id or a part of it;
    `-` is standard input, stored in a file.
    """
    from hackathon.cli.named_runs import run_to_read
    from hackathon.diagnosis.sources import TEXT, runs_among
    from hackathon.runs.chain import latest_run
    from hackathon.text.errors import RequestError

    if not targets:
        newest = latest_run(runs_folder())
        of_study = _of_study(newest.study.id) if newest.study else None
        return [newest] if of_study is None else of_study, [], []
    folder = runs_folder()
    runs: dict[Path, RunDirectory] = {}
    files: list[Path] = []
    names: list[str] = []
    for target in targets:
        path = Path(target)
        if target == "-":
            files.append(_spooled())
            names.append(target)
        elif _is_there(path):
            matches, paths = runs_among([path])
            runs |= {run.path: run for run in matches}
            files += paths
            names += [target for _ in paths]
        elif path.is_absolute() or path.suffix in TEXT:
            raise RequestError(
                "diagnosis.no_file",
                "file {path} does not exist",
                hint="runs and studies are named by their ids; list them with `hackathon status`",
                path=target,
            )
        else:
            of_study = _of_study(target)
            matches = [run_to_read(target, folder)] if of_study is None else of_study
            runs |= {run.path: run for run in matches}
    return list(runs.values()), files, names


def _of_study(name: str) -> "list[RunDirectory] | None":
    """Return the runs of a study of this folder; None without a study of that name."""
    from hackathon.runs.study import find_study, runs_of

    study = find_study(name, runs_folder().parent, exact=False)
    return None if study is None else runs_of(study)


def _is_there(path: Path) -> bool:
    """Return whether a path exists. Raises RequestError if this user lacks the permission to see that or to read it."""
    from hackathon.text.errors import RequestError

    try:
        (path / "request.json").exists()
        return path.exists()
    except OSError as error:
        raise RequestError(
            "diagnosis.not_open",
            "{path} cannot be read: {what}",
            hint="ask its owner for a bundle: hackathon diagnose RUN --bundle",
            path=path,
            what=error.strerror,
        ) from error


def rule_folders(run: Path | None = None) -> list[Path]:
    """Return the folders whose rules precede the user's and the shipped ones: the project's and the event's."""
    from hackathon.config.trust import folders_that_count

    return folders_that_count(Path.cwd(), run)


def show(diagnosis: "Diagnosis", target: str, settings: str = "") -> None:
    """Print a diagnosis, the cause last."""
    from hackathon.cli.show import printable
    from hackathon.diagnosis.show import lines_of

    for line, head in lines_of(diagnosis, target, settings):
        click.echo(click.style(printable(line), bold=True) if head else printable(line))


def _point_at_stacks(diagnosis: "Diagnosis", run: "RunDirectory | None") -> None:
    """Print how to get the stacks of a run's ranks, at present or at its end, while no cause explains why it hangs."""
    if run is None or (diagnosis.root is not None and not diagnosis.root.rule.startswith("job-")):
        return
    if Path(str(run.path)).parent.resolve() != runs_folder().resolve():  # `logs` finds only runs of this project
        return
    from hackathon.diagnosis.hangs.stacks import stacks_of

    if diagnosis.state == "RUNNING" and not diagnosis.findings:
        click.echo(_("To see where each rank is now: hackathon logs {run!q} --stacks", run=run.id[-8:]))
    elif diagnosis.state in ("CANCELLED", "TIMEOUT") and stacks_of(run.path):
        click.echo(
            _("To see where each rank was when the job was ended: hackathon logs {run!q} --stacks", run=run.id[-8:])
        )


def show_cause(run: "RunDirectory", state: "RunStatus") -> None:
    """Print to stderr a short cause of a failed run, or the silent errors of a successful one.

    An error here must not hide the caller's own output about the run.
    """
    from hackathon.cli.show import printable
    from hackathon.diagnosis.show import cause_lines

    if state.open or state.state == "CREATED" or state.cause == "preflight_failed":
        return
    root = cause_of(run, state)
    if root is not None:
        for line, head in cause_lines(root):
            click.echo(click.style(printable(line), bold=True) if head else printable(line), err=True)
    elif state.state == "SUCCEEDED":
        return
    click.echo(
        _(
            N_("Full diagnosis: hackathon diagnose {run!q}")
            if root
            else N_("no known cause; see the most telling lines: hackathon diagnose {run!q}"),
            run=run.id[-8:],
        ),
        err=True,
    )


def cause_of(run: "RunDirectory", state: "RunStatus", cache: "HeldRules | None" = None) -> "Finding | None":
    """Return the cause of a run's failure and store it in its folder; None for an unreadable run.

    `cache`: rules of earlier runs.
    """
    from hackathon.diagnosis.cache import keep
    from hackathon.diagnosis.examine import diagnose_run
    from hackathon.text.errors import HackathonError

    try:
        folders = rule_folders(run.path)
        diagnosis = diagnose_run(run, state, folders=folders, rules=cache.of(folders) if cache else None)
    except (HackathonError, OSError) as error:
        click.echo(f"{_('warning')}: {error}", err=True)
        return None
    tell_slow([diagnosis])
    keep(run, diagnosis)
    return diagnosis.root


def tell_slow(diagnoses: "Sequence[Diagnosis]") -> None:
    """Warn on stderr of unreadable files and slow rules, because a cause may be missing."""
    from hackathon.cli.show import printable

    for diagnosis in diagnoses:
        if diagnosis.unread:
            text = _(
                "{run}: some files cannot be read at the moment, so the cause may be another one. Try again: {files}",
                run=diagnosis.run,
                files=printable(", ".join(diagnosis.unread[:UNREAD])),
            )
            click.echo(f"{_('warning')}: {text}", err=True)
    slow = {name for diagnosis in diagnoses for name in diagnosis.slow}
    if not slow:
        return
    from hackathon.config.rule_files import find_rules

    for rule, path in find_rules(rule_folders())[0]:
        if rule.id in slow:
            text = _(
                "rule {rule} in {path} took too long on these logs and was not applied to all lines",
                rule=rule.id,
                path=printable(str(path)),
            )
            click.echo(f"{_('warning')}: {text}", err=True)


def _refuse_bundle(bundle: str, count: int) -> None:
    """Raise RequestError if a bundle is impossible, before anything is read."""
    from hackathon.diagnosis.bundle import bundle_path
    from hackathon.text.errors import RequestError

    bundle_path(bundle, "bundle")
    if count != 1:
        raise RequestError(
            "diagnosis.bundle_one",
            "a bundle holds one run, or files; {count} were given",
            hint="name one run: hackathon diagnose RUN --bundle",
            count=count,
        )


def _make_bundle(
    bundle: str, runs: "Sequence[RunDirectory]", files: Sequence[Path], names: Sequence[str], diagnosis: "Diagnosis"
) -> None:
    """Pack the files that a tutor needs, and print to stderr what is missing."""
    from hackathon.cli.show import printable
    from hackathon.diagnosis.bundle import bundle_files, bundle_path, bundle_run
    from hackathon.text.units import format_size

    if runs:
        archive = bundle_run(runs[0], diagnosis, bundle_path(bundle, runs[0].id))
    else:
        archive = bundle_files(files, names, diagnosis, bundle_path(bundle, files[0].stem or "logs"))
    size = format_size(archive.size)
    click.echo(
        _("created {path} ({size}, {count} files) for a tutor", path=archive.path, size=size, count=len(archive.taken)),
        err=True,
    )
    if archive.left_out:
        click.echo(_("left out:"), err=True)
        for name, why in archive.left_out:
            click.echo(f"  {printable(name)}: {why}", err=True)
    click.echo(
        _(
            "Secrets, home folders, and user names are replaced; host names and the text of the logs are not. "
            "Check it before you send it: tar -tzf {path}",
            path=archive.path,
        ),
        err=True,
    )


def _usable_rules() -> "Sequence[Rule]":
    """Return the rules, and report unreadable rule files; the diagnosis continues without them."""
    from hackathon.cli.show import printable
    from hackathon.config.rule_files import load_rules

    rules, problems = load_rules(rule_folders())
    for problem in problems:
        text = _("rules that cannot be read: {problem}", problem=printable(str(problem)))
        click.echo(f"{_('warning')}: {text}", err=True)
    return rules


def _tell_unread(files: Sequence[Path], names: Sequence[str]) -> None:
    """Warn on stderr of named files that are empty or unreadable."""
    from hackathon.cli.show import printable
    from hackathon.diagnosis.sources import of_paths
    from hackathon.text.files import open_regular

    for path, name in zip(files, names, strict=True):
        logs = of_paths([path], [name])
        warnings = [] if logs else [_("folder {path} contains no logs", path=name)]
        for log in logs:
            try:
                with open_regular(log.path) as stream:
                    if path.is_dir() or stream.read(1):
                        continue
            except OSError as error:
                warnings.append(_("{path} cannot be read: {what}", path=log.name, what=error.strerror))
            else:
                warnings.append(_("standard input was empty") if name == "-" else _("{path} is empty", path=name))
        for text in warnings:
            click.echo(f"{_('warning')}: {printable(text)}", err=True)


def _tell_closed(runs: "Sequence[RunDirectory]") -> None:
    """Warn on stderr of logs that this user may not read, because they may contain the cause."""
    import os

    from hackathon.cli.show import tell_refused
    from hackathon.diagnosis.cache import MOST_RUNS
    from hackathon.logs.follow import log_files

    for run in runs[:MOST_RUNS]:
        tell_refused(run)
        closed = [path for path in log_files(run.path) if not os.access(path, os.R_OK)]
        if closed:
            text = ngettext(
                "you may not read {count} log of this run: {path}",
                "you may not read {count} logs of this run: {path}",
                len(closed),
                path=closed[0],
                count=len(closed),
            )
            click.echo(f"{_('warning')}: {text}", err=True)


def _spooled() -> Path:
    """Return a file with the content of standard input; it is removed at exit."""
    import atexit
    import shutil
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="hackathon-", suffix=".log", delete=False) as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
    path = Path(stream.name)
    atexit.register(path.unlink, missing_ok=True)
    return path
