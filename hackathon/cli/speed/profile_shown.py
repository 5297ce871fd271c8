"""How `hackathon profile` presents the parts of a step's time: in the terminal, as JSON, and as a page."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.text.messages import N_, _, pgettext

if TYPE_CHECKING:
    from hackathon.profiling.traces.report import Profile
    from hackathon.runs.directory import RunDirectory

_MEMORY_TEXTS = {
    "device": N_("memory: at most {size} on a GPU"),
    "tensors": N_("memory: tensors of at most {size} on the host"),
    "process": N_("memory: at most {size} of main memory in a process"),
    "peak": N_("Peak of the memory: {rate}B/s ({source})"),
}

NAME = 60
"""Characters of an operator's name that are displayed."""
MOST_RANKS = 16
"""The most ranks whose shares are printed; for more ranks the mean is."""


def show_profile(profile: "Profile", run: "RunDirectory | None") -> None:
    """Print the profile, the verdict last."""
    from hackathon.cli.show import echo_table, printable

    for line in _head(profile, run):
        click.echo(printable(line))
    click.echo()
    _show_shares(profile)
    click.echo()
    for line in _facts(profile):
        click.echo(printable(line))
    for activities in (profile.operators, profile.kernels[:10]):
        kernels = activities is not profile.operators
        if activities:
            click.echo()
            head = [
                (_("kernel") if kernels else _("operator (CPU, own time)")),
                _("calls a step"),
                _("ms a step"),
            ]
            head += [_("Tensor Cores")] if kernels else []
            rows = [
                [_short(activity.name), f"{activity.calls:.3g}", f"{1e3 * activity.seconds:.3f}"]
                + (
                    [pgettext("profile", "yes") if activity.tensor_cores else pgettext("profile", "no")]
                    if kernels
                    else []
                )
                for activity in activities
            ]
            echo_table(head, rows)
    if profile.device_time is not None:
        click.echo()
        heads = [
            _("operator (GPU, kernels that it launched)"), _("kernels a step"), _("ms a step"),
            _("of all kernels"),
        ]  # fmt: skip
        rows = [
            [
                _short(operator.name),
                f"{operator.kernels:.3g}",
                f"{1e3 * operator.seconds:.3f}",
                f"{100 * operator.share:.1f} %",
            ]
            for operator in profile.device_time.operators
        ]
        echo_table(heads, rows)
        click.echo(
            _(
                "The operator is known for {share} % of the time of kernels; collectives are not counted.",
                share=f"{100 * profile.device_time.known:.0f}",
            )
        )
    _show_roofline(profile)
    if profile.gaps:
        click.echo()
        click.echo(_("longest gaps (nothing is computed, the program is busy elsewhere):"))
        for gap in profile.gaps[:5]:
            click.echo("  " + printable(gap_text(gap)))
    _show_nsys(run)
    for text in profile.remarks:
        click.echo(f"{_('warning')}: {printable(text)}", err=True)
    click.echo()
    click.echo(click.style(profile.verdict, bold=True))
    for finding in profile.findings[1:]:
        click.echo(finding.message)
    for finding in profile.findings:
        click.echo(f"  → {finding.advice}")


def _show_roofline(profile: "Profile") -> None:
    """Print how much of the device a step uses, and the position of its operators under the roofline."""
    from hackathon.cli.show import echo_table, printable
    from hackathon.profiling.traces.roof_sentences import operator_rows, roof_sentences

    click.echo()
    for line in roof_sentences(profile):
        click.echo(printable(line))
    if profile.roofline is not None:
        head = [
            _("operator"),
            _("GFLOP"),
            _("GFLOP/s"),
            _("GB/s"),
            _("of the peak"),
            _("FLOP/byte"),
            _("bound by"),
        ]
        echo_table(head, operator_rows(profile.roofline))


def show_json(profile: "Profile", run: "RunDirectory | None") -> None:
    """Print the profile as JSON."""

    value = {**profile.to_json(), "run": run.id if run is not None else None}
    echo_json(value)


def write_pages(profile: "Profile", file: Path, run: "RunDirectory | None") -> None:
    """Write the report as a page in each language.

    FILE is in the current one, `NAME.ja.html` or `NAME.en.html` beside it.
    """
    from hackathon.web.report.single_pages import profile_page, write_translated

    title = run.id if run is not None else ", ".join(Path(trace.file).name for trace in profile.traces.values())
    for path in write_translated(file, lambda code, translations: profile_page(profile, code, title, translations)):
        click.echo(_("page: {file}", file=path), err=True)


def _head(profile: "Profile", run: "RunDirectory | None") -> Iterator[str]:
    shares = profile.shares
    mean = profile.mean
    hosts = sorted({trace.host for trace in profile.traces.values() if trace.host})
    devices = sorted({name for trace in profile.traces.values() if trace.on_device for name in trace.devices})
    yield _(
        "{processes} {processes:process|processes}, {steps} recorded {steps:step|steps} of {milliseconds} ms, "
        "on {where}",
        processes=shares.processes,
        steps=mean.steps,
        milliseconds=f"{1e3 * mean.seconds:.4g}",
        where=", ".join([*hosts, *devices]) or "–",
    )
    if run is not None:
        yield _("run {run}", run=run.id)


def _show_shares(profile: "Profile") -> None:
    from hackathon.cli.show import echo_table
    from hackathon.profiling.shares import PART_TEXTS, PARTS

    ranks = profile.shares.ranks if len(profile.shares.ranks) <= MOST_RANKS else (profile.mean,)
    head = [_("rank"), *(_(PART_TEXTS[part]) for part in PARTS)]
    rows = []
    for process in ranks:
        cells = [str(process.rank) if process.rank >= 0 else _("mean")]
        for part in PARTS:
            share = process.share(part) if getattr(process, part) is not None else None
            cells.append(_("not known") if share is None else f"{100 * share:.1f} %")
        rows.append(cells)
    echo_table(head, rows)


def _facts(profile: "Profile") -> Iterator[str]:
    """Yield communication, loader, Tensor Cores, memory and overhead, a line each."""
    from hackathon.profiling.traces.recording import overhead
    from hackathon.text.units import format_size

    if profile.communication is not None and profile.shares.processes > 1:
        inside, exposed = (f"{1e3 * duration:.3g}" for duration in profile.communication)
        yield _(
            "communication: {inside} ms a step in collectives, {exposed} ms of it not hidden by computing "
            "(waiting included)",
            inside=inside,
            exposed=exposed,
        )
    if profile.loader is not None:
        inside, exposed = (f"{1e3 * duration:.3g}" for duration in profile.loader)
        yield _(
            "loader: {inside} ms a step, {exposed} ms of it not hidden by computing", inside=inside, exposed=exposed
        )
    if profile.tensor_core_share is not None:
        yield _(
            "Tensor Cores: {share} % of the time of kernels, judged by their names",
            share=f"{100 * profile.tensor_core_share:.0f}",
        )
    for name, value in profile.memory.items():
        yield _(_MEMORY_TEXTS[name], size=format_size(int(value)))
    cost = overhead(profile.recordings)
    if cost is None:
        yield (
            _("overhead of recording: not known, too few steps without the profiler")
            if profile.recordings
            else _("overhead of recording: not known, the traces do not tell")
        )
    else:
        yield _(
            "overhead of recording: {share} % ({recorded} ms a step, {plain} ms without, {steps} steps)",
            share=f"{100 * cost['share']:+.0f}",
            plain=f"{1e3 * cost['plain_seconds']:.4g}",
            recorded=f"{1e3 * cost['recorded_seconds']:.4g}",
            steps=cost["steps"],
        )


def gap_text(gap: object) -> str:
    """Return a gap in one line."""
    from hackathon.profiling.traces.activity import Gap

    assert isinstance(gap, Gap)
    return _(
        "{milliseconds} ms on rank {rank} in step {step}: after {after}, before {before}",
        milliseconds=f"{1e3 * gap.seconds:.3g}",
        rank=gap.rank,
        step=gap.step,
        after=_short(gap.after) or "–",
        before=_short(gap.before) or "–",
    )


def _short(name: str) -> str:
    return name if len(name) <= NAME else name[: NAME - 1] + "…"


def _show_nsys(run: "RunDirectory | None") -> None:
    """Print how to record the same program with Nsight Systems, if it is installed."""
    import shlex
    import shutil

    from hackathon.cli.show import printable

    if run is None or shutil.which("nsys") is None:
        return
    words = ["nsys", "profile", "--trace=cuda,nvtx,cudnn,cublas", "--output=profile-%q{RANK}", *run.known().command]
    click.echo()
    click.echo(_("With Nsight Systems, on each rank:"))
    click.echo("  " + printable(shlex.join(words)))
