"""The content of a team's slides, from its records: first measurement, changes, speed-up, difficulties."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.board.entry import clean_line
from hackathon.index.catalog import Catalog
from hackathon.index.memory import Memory
from hackathon.index.outcomes import MainStudy, outcome
from hackathon.index.record import RunEntry
from hackathon.index.studies import TeamRuns, by_study, by_team, run_key, told_results
from hackathon.prediction.results import with_predictions
from hackathon.runs.states import CANCELLED, ENDED
from hackathon.scaling.show import doubt_mark, remarks
from hackathon.scaling.table import SUCCEEDED, TARGET
from hackathon.text.messages import N_, _, language, localized
from hackathon.web.page.dates import days_text, listed
from hackathon.web.page.sanitize import line
from hackathon.web.report.team import best_of, speedup_sentence
from hackathon.web.views.before_after import BeforeAfter, Measurement, change
from hackathon.web.views.board import PostView, board_view
from hackathon.web.views.diff import FileChange, diff_page
from hackathon.web.views.team import Program, team_page

if TYPE_CHECKING:
    from hackathon.config.event import Event

_FILE_TEXTS = {
    "new": N_("new file: {name}"),
    "gone": N_("file removed: {name}"),
    "changed": N_("changed: {name}"),
    "lines": N_("changed: {name} (lines: +{added}, −{gone})"),
}

POINTS, CHANGED, FILES, TROUBLES, POSTS, REMARKS = 9, 8, 6, 4, 5, 3
"""The most rows of each kind on one slide."""


@dataclass(frozen=True)
class PointRow:
    """One size of the main study."""

    processes: int
    nodes: int
    value: float | None
    speedup: float | None
    efficiency: float | None
    repeats: int
    doubted: str = ""
    """The mark of its doubts; empty without doubts."""

    @property
    def low(self) -> bool:
        """Whether its efficiency is below the target."""
        return self.efficiency is not None and self.efficiency < TARGET


@dataclass(frozen=True)
class TroubleRow:
    """A diagnosed failure, and the next success."""

    part: str
    text: str
    runs: tuple[str, ...]
    """Ids of the runs with this failure, newest first."""
    solved: str
    """The next run that succeeded, and its differences; empty if there is none."""


@dataclass(frozen=True)
class PostRow:
    """A post of the team on the board, and its outcome."""

    title: str
    solved: bool
    answer: str


@dataclass(frozen=True)
class Deck:
    """A team's slides."""

    team: str
    event: str
    when: str
    place: str
    problem: str
    model: str
    done: str
    clusters: tuple[str, ...]
    program: Program | None
    before: Measurement | None
    """The first measurement."""
    after: Measurement | None
    """The best later one."""
    times: float | None
    changed: tuple[tuple[str, str, str], ...]
    """(name, before, after)."""
    files: tuple[str, ...]
    """The program's files that differ between the two, in words."""
    best: MainStudy | None
    """The main study and its best point, the same as on all pages; None without one."""
    others: tuple[tuple[str, str], ...]
    """(project, its main study's result) of the team's other projects."""
    study: str
    """The id of the main study; empty without one."""
    mode: str
    unit: str
    base: int
    points: tuple[PointRow, ...]
    remarks: tuple[str, ...]
    """Remarks about the study's numbers."""
    troubles: tuple[TroubleRow, ...]
    posts: tuple[PostRow, ...]


def deck(source: Catalog, name: str) -> tuple[Deck, dict[str, Any] | None] | None:
    """Return a team's deck in the current language, and its main study's results; None if there is no such team."""
    team = next((team for team in by_team(source) if team.name == name), None)
    if team is None:
        return None
    studies = by_study(team.runs, source.memory)
    reached = outcome(team, source)
    best = reached.main
    compared = change(team.work, studies, best.run if best else None)
    series = best.series if best else None
    results = with_predictions(told_results(series)) if series else None
    page = team_page(reached, source, studies)
    event, entry = source.event, team.team
    return Deck(
        team=line(team.name, 100),
        event=line(localized(event.title), 200) if event else "",
        when=days_text(event.dates) if event else "",
        place=line(localized(event.place), 200) if event else "",
        problem=page.title,
        model=line(entry.model, 300) if entry else "",
        done=line(localized(entry.done), 1000) if entry else "",
        clusters=tuple(line(cluster, 60) for cluster in best.clusters) if best else page.clusters,
        program=page.program,
        before=compared.before if compared else _first(team),
        after=compared.after if compared else None,
        times=compared.speedup if compared else None,
        changed=_changed(compared),
        files=_files(source, compared),
        best=best,
        others=tuple((study.project, speedup_sentence(study)) for study in map(best_of, reached.others)),
        study=series.id if series else "",
        mode=results["mode"] if results else "",
        unit=line(results["unit"] or results["metric"], 40) if results else "",
        base=results["base_processes"] if results else 0,
        points=_points(results),
        remarks=tuple(line(remark, 300) for remark in remarks(results)[:REMARKS]) if results else (),
        troubles=_troubles(team.work, source.memory),
        posts=_posts(source, team.name),
    ), results  # fmt: skip


def _first(team: TeamRuns) -> Measurement | None:
    """Return the team's first run with a measurement; None if it has none."""
    good = [run for run in team.work if run.state == SUCCEEDED and run.value is not None]
    if not good:
        return None
    run = min(good, key=lambda run: (run.created or 0.0, run.id))
    return Measurement(
        value=run.value or 0.0, unit=line(run.unit, 40), metric=line(run.metric, 60), processes=run.processes,
        nodes=run.nodes, repeats=1, run=run_key(run), run_id=run.id, name=line(run.name, 100), created=run.created,
    )  # fmt: skip


def _changed(compared: BeforeAfter | None) -> tuple[tuple[str, str, str], ...]:
    if compared is None:
        return ()
    rows = [(entry.name, entry.before, entry.after) for entry in compared.changed]
    if compared.before.processes != compared.after.processes:
        sizes = str(compared.before.processes), str(compared.after.processes)
        rows.insert(0, (_("Processes"), *sizes))
    return tuple(rows[:CHANGED])


def _files(source: Catalog, compared: BeforeAfter | None) -> tuple[str, ...]:
    """Return the program's files that differ between the two measurements, in words."""
    if compared is None:
        return ()
    left, right = source.find(compared.before.run), source.find(compared.after.run)
    if left is None or right is None:
        return ()
    page = diff_page(left, right, source.memory)
    texts = [_file(change) for change in page.files[:FILES]]
    more = len(page.files) - len(texts) + page.files_left
    return (*texts, _("and {count} more files", count=more)) if more > 0 else tuple(texts)


def _file(change: FileChange) -> str:
    if change.kind != "changed":
        return _(_FILE_TEXTS[change.kind], name=change.name)
    added = sum(kind == "add" for kind, _ in change.lines)
    gone = sum(kind == "gone" for kind, _ in change.lines)
    if not (added or gone) or change.left_out:
        return _("changed: {name}", name=change.name)
    return _("changed: {name} (lines: +{added}, −{gone})", name=change.name, added=added, gone=gone)


def _points(results: dict[str, Any] | None) -> tuple[PointRow, ...]:
    if results is None:
        return ()
    points = results["points"]
    selection = points if len(points) <= POINTS else [points[0], *points[1 - POINTS :]]
    return tuple(
        PointRow(
            point["processes"], point["nodes"], point["value"], point["speedup"], point["efficiency"],
            point["spread"]["n"], doubt_mark(point["doubts"]),
        ) for point in selection
    )  # fmt: skip


def _troubles(runs: Sequence[RunEntry], memory: Memory) -> tuple[TroubleRow, ...]:
    """Return the diagnosed failures by part and cause, the most frequent first."""
    over = frozenset(ENDED) - {SUCCEEDED, CANCELLED}
    failures: dict[tuple[str, str], list[RunEntry]] = {}
    for run in runs:
        words = run.told_in(language())
        if run.state in over and run.part and words is not None:
            failures.setdefault((run.part, line(words.message, 300)), []).append(run)
    order = sorted(failures.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return tuple(
        TroubleRow(_part(part), text, tuple(run.id for run in failed), _solved(failed[0], runs, memory))
        for (part, text), failed in order[:TROUBLES]
    )


def _part(part: str) -> str:
    from hackathon.diagnosis.show import part_name

    return part_name(part)


def _solved(failed: RunEntry, runs: Sequence[RunEntry], memory: Memory) -> str:
    """Return the next successful run of the same program, if possible of the same size, and its differences."""
    later = [
        run for run in runs
        if run.state == SUCCEEDED and run.name == failed.name and (run.created or 0.0) > (failed.created or 0.0)
    ]  # fmt: skip
    if not later:
        return ""
    good = min(later, key=lambda run: (run.processes != failed.processes, run.created or 0.0, run.id))
    page = diff_page(failed, good, memory, with_source=False)
    request = next(part for part in page.parts if part.name == "request")
    differences = [
        f"{change.name}: {change.left} → {change.right}" for change in request.changes if change.name != "command"
    ][:3]
    differences += [file.name for file in page.files[:3]]
    if not differences:
        return _("next successful run {run}, same request", run=good.id)
    return _(
        "next successful run {run}: {changes}",
        run=good.id,
        changes=listed([line(difference, 120) for difference in differences]),
    )


def _posts(source: Catalog, team: str) -> tuple[PostRow, ...]:
    """Return a team's posts on the board; empty if there is no board or it cannot be read."""
    from dataclasses import replace

    board = board_view(replace(source, live=True))
    name = clean_line(team)  # the team's name on the board
    own = [post for post in (*board.open, *board.answered, *board.solved) if post.team == name]
    return tuple(_post(post) for post in own[:POSTS])


def _post(post: PostView) -> PostRow:
    answers = [step.text for step in post.steps if step.kind in ("answer", "solve") and step.text]
    return PostRow(post.title or post.finding, post.state == "solved", line(" – ".join(answers), 300))


def team_named(event: "Event", text: str) -> str | None:
    """Return the name of the team for a text, ignoring case; None if there is none."""
    names = [team.name for team in event.teams]
    if text in names:
        return text
    near = [name for name in names if name.casefold() == text.casefold()]
    return near[0] if len(near) == 1 else None


def own_folder(start: Path) -> list[Path]:
    """Return the project around a folder, whose runs may be outside the team's folders."""
    from hackathon.config.load import find_project

    project = find_project(start)
    return [project] if project is not None else []
