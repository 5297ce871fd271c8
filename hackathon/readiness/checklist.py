"""The points of a checklist, decided by the account, the environment, the data and one small job."""

import os
import shlex
from pathlib import Path

from hackathon.access.acl import group_id
from hackathon.access.permissions import group_names
from hackathon.board.entry import clean_line
from hackathon.readiness.probe import LIMIT, differing, seconds_of
from hackathon.readiness.results import baseline, correct, good_runs
from hackathon.readiness.situation import ChecklistItem, Situation, tutors_of
from hackathon.readiness.tutoring import closed_to, opening
from hackathon.readiness.wanted import HASHED
from hackathon.runs.states import OPEN, SUCCEEDED
from hackathon.text.messages import _
from hackathon.text.told import Told, tell
from hackathon.text.units import format_size

SHOWN = 6
"""The most packages, groups or files that one line lists."""


def items(situation: Situation) -> list[ChecklistItem]:
    """Return all points of the checklist, in the order of NAMES."""
    points = [
        _account(situation),
        _environment(situation),
        _data(situation),
        _job(situation),
        correct(situation),
        baseline(situation),
    ]
    return [*points, _tutors(situation, [str(item.facts["run"]) for item in points if "run" in item.facts])]


def _account(situation: Situation) -> ChecklistItem:
    groups = group_names(situation.account.groups)
    identity = tell("ready.account_is", user=situation.account.user, host=os.uname().nodename, groups=_listed(groups))
    facts: dict[str, str | float | bool] = {"user": situation.account.user, "host": os.uname().nodename}
    if situation.event is None:
        return ChecklistItem(
            "account",
            None,
            (identity, tell("ready.no_event")),
            _("put the project below the event's folder, or set HACKATHON_SHARED as instructed by the organisers"),
            facts,
        )
    if situation.team is None:
        remedy = _("tell the organisers that {user} is your account", user=situation.account.user)
        return ChecklistItem("account", False, (identity, tell("ready.no_member")), remedy, facts)
    facts["team"] = situation.team.name
    member = identity, tell("ready.member_of", team=clean_line(situation.team.name))
    group = situation.team.group
    if not group:
        return ChecklistItem("account", True, member, facts=facts)
    facts["group"] = group
    paid = situation.probe[0].record().group if situation.probe and situation.probe[1].state == SUCCEEDED else None
    if group in groups:
        return ChecklistItem("account", True, (*member, tell("ready.group_is", group=group)), facts=facts)
    if paid == group and situation.probe:
        facts["run"] = situation.probe[0].id
        return ChecklistItem("account", True, (*member, tell("ready.group_paid", group=group)), facts=facts)
    if group_id(group) is None:
        text = tell("ready.group_unknown", group=group)
        return ChecklistItem("account", None, (*member, text), f"hackathon ready --group {shlex.quote(group)}", facts)
    remedy = _(
        "ask the organisers to add {user} to {group}, then log in again", group=group, user=situation.account.user
    )
    return ChecklistItem("account", False, (*member, tell("ready.group_not", group=group)), remedy, facts)


def _environment(situation: Situation) -> ChecklistItem:
    built = situation.sources.python_environment
    recipe = situation.sources.recipe
    gpus = situation.sources.cluster.node.gpus
    variant = "cuda" if isinstance(gpus, int) and gpus else "cpu"
    create = (
        f"hackathon env create --variant {variant}" if recipe else _("activate it with `environment:` in project.yaml")
    )
    installation = (tell("ready.built", path=built.path, date=built.built, variant=built.variant),) if built else ()
    facts: dict[str, str | float | bool] = {"path": str(built.path)} if built else {}
    if situation.told is None or situation.probe is None:
        return ChecklistItem("environment", None, (*installation, tell("ready.not_imported")), "hackathon ready", facts)
    run, report = situation.probe[0], situation.told
    facts |= {"run": run.id, "python": report.python}
    same = run.record().python_environment.get("digest") == (built.digest if built else None)
    later = [name for name in situation.wanted.modules if name not in report.versions and name not in report.failed]
    if not same or later:
        changed = tell("ready.environment_changed", run=run.id)
        return ChecklistItem("environment", None, (changed,), "hackathon ready", facts)
    failed = {name: why for name, why in report.failed.items() if name in situation.wanted.modules}
    if failed:
        name, why = next(iter(failed.items()))
        text = tell(
            "ready.import_failed", name=name, why=why, count=len(failed), host=report.host, python=report.python
        )
        return ChecklistItem("environment", False, (text,), create, facts)
    if report.gpus == 0 and isinstance(gpus, int) and gpus:
        text = tell("ready.no_gpu_seen", host=report.host, gpus=gpus)
        return ChecklistItem("environment", False, (text,), create, facts)
    versions = [f"{name} {report.versions[name]}".strip() for name in situation.wanted.modules]
    key = "ready.imported" if versions else "ready.imported_nothing"
    text = tell(key, python=report.python, host=report.host, packages=_listed(versions))
    facts["packages"] = _listed(versions, 20)
    return ChecklistItem("environment", True, (text, *installation), facts=facts)


def _data(situation: Situation) -> ChecklistItem:
    from hackathon.jobs.data import FOLDER
    from hackathon.runs import data

    if not situation.entries:
        return _no_data(situation)
    folder = situation.project / FOLDER
    total = sum(data.size(entry, folder) for entry in situation.entries)
    by_hash = total <= HASHED
    for entry in situation.entries:
        bad = data.problems(entry, folder) if by_hash else _sizes(entry.name, folder)
        if bad:
            lacking = tuple(tell(key, name=clean_line(name)) for key, name in bad[:SHOWN])
            return ChecklistItem("data", False, lacking, "hackathon data fetch")
    names = _listed([f"{entry.name} ({format_size(data.size(entry, folder))})" for entry in situation.entries])
    text = tell("ready.data_whole" if by_hash else "ready.data_sizes", names=names)
    if situation.told is None or situation.probe is None:
        return ChecklistItem("data", None, (text, tell("ready.data_not_from_node")), "hackathon ready")
    run = situation.probe[0]
    facts: dict[str, str | float | bool] = {"run": run.id, "bytes": float(total), "files": len(situation.wanted.files)}
    bad_files = differing(situation.wanted, situation.told)
    if bad_files or not situation.wanted.files:
        path, why = bad_files[0] if bad_files else (str(folder), "")
        key = "ready.data_unseen" if why else "ready.data_other"
        text = tell(key, path=path, why=why, host=situation.told.host, count=len(bad_files))
        return ChecklistItem(
            "data",
            False,
            (text,),
            _(
                "move the project to a file system that compute nodes can read, then run `hackathon data "
                "fetch` and `hackathon ready`"
            ),
            facts,
        )
    read = tell("ready.data_seen", count=len(situation.wanted.files), host=situation.told.host, run=run.id)
    return ChecklistItem("data", True, (text, read), facts=facts)


def _sizes(name: str, folder: Path) -> list[tuple[str, str]]:
    """Return the problems of a large data set that its file sizes alone show, in the format of `data.problems`."""
    from hackathon.jobs.data import record_of

    record = record_of(folder, name)
    if record is None:
        return [("data.is_missing", name)]
    problems = []
    for entry in record["files"]:
        try:
            good = (folder / str(entry["path"])).stat().st_size == entry["size"]
        except OSError:
            problems.append(("data.file_missing", str(entry["path"])))
            continue
        if not good:
            problems.append(("data.file_changed", str(entry["path"])))
    return problems


def _no_data(situation: Situation) -> ChecklistItem:
    run = next((run for run, _ in good_runs(situation)), None)
    facts: dict[str, str | float | bool] = {"run": run.id} if run is not None else {}
    if situation.sources.recipe is not None:
        text = tell("ready.data_none_recipe", recipe=situation.sources.recipe.name)
        return ChecklistItem("data", True, (text,), facts=facts)
    if run is not None:
        return ChecklistItem("data", True, (tell("ready.data_none_run", run=run.id),), facts=facts)
    return ChecklistItem(
        "data",
        None,
        (tell("ready.data_none"),),
        _("declare the data under `data:` in project.yaml, or run the program successfully: hackathon submit --wait"),
    )


def _job(situation: Situation) -> ChecklistItem:
    if situation.refused is not None:
        why = Told(situation.refused.id, situation.refused.values)
        return ChecklistItem("job", False, (why,), clean_line(situation.refused.hint or "") or "hackathon doctor")
    if situation.probe is None:
        return ChecklistItem("job", None, (tell("ready.no_job"),), "hackathon ready")
    run, state = situation.probe
    facts: dict[str, str | float | bool] = {"run": run.id, "job_id": state.job_id or ""}
    named = {"run": run.id, "job": state.job_id or "–"}
    if state.state in OPEN or state.state == "CREATED":
        text = tell("ready.job_open", state=state.state, **named)
        return ChecklistItem("job", None, (text,), "hackathon ready --no-job", facts)
    seconds = seconds_of(state.t_started, state.t_ended)
    waited = seconds_of(state.t_submitted, state.t_started)
    host = clean_line(situation.told.host if situation.told else ", ".join(state.hosts))
    facts |= {"host": host}
    facts |= {name: value for name, value in (("seconds", seconds), ("waited", waited)) if value is not None}
    if state.state != SUCCEEDED or seconds is None:
        failed = tell("ready.job_failed", state=state.state, **named), *state.reasons
        return ChecklistItem("job", False, failed, f"hackathon diagnose {shlex.quote(run.id[-8:])}", facts)
    if situation.told is None:
        text = tell("ready.job_silent", **named)
        return ChecklistItem("job", False, (text,), f"hackathon logs {shlex.quote(run.id[-8:])}", facts)
    values = {
        **named,
        "host": host,
        "seconds": f"{seconds:.1f}",
        "waited": f"{waited or 0:.0f}",
        "limit": f"{LIMIT:.0f}",
    }
    if seconds >= LIMIT:
        return ChecklistItem(
            "job",
            False,
            (tell("ready.job_slow", **values),),
            _("importing packages from this file system is slow: put the environment on a faster one"),
            facts,
        )
    return ChecklistItem("job", True, (tell("ready.job_ran", **values),), facts=facts)


def _tutors(situation: Situation, runs: list[str]) -> ChecklistItem:
    if situation.team is None:
        return ChecklistItem(
            "tutors",
            None,
            (tell("ready.tutors_no_team"),),
            _("put the project below the event's folder, or set HACKATHON_SHARED as instructed by the organisers"),
        )
    tutors, unknown = tutors_of(situation.team)
    if not tutors and not unknown:
        return ChecklistItem("tutors", None, (tell("ready.tutors_none"),), _("ask the organisers who your tutor is"))
    paths = [situation.sources.runs / run for run in dict.fromkeys(runs)]
    shut: list[tuple[str, Path]] = []
    try:
        for tutor in tutors:
            closed = closed_to(tutor, situation.project, paths)
            if closed is not None:
                shut.append((tutor.user, closed))
        if shut:
            text = tell("ready.tutors_closed", users=_listed([user for user, _ in shut]), path=shut[0][1])
            outside = [tutor for tutor in tutors if tutor.user in {user for user, _ in shut}]
            return ChecklistItem("tutors", False, (text,), opening(shut[0][1], situation.project, outside))
    except OSError as error:
        text = tell("ready.tutors_unseen", what=clean_line(str(error)))
        return ChecklistItem("tutors", None, (text,), "hackathon doctor")
    facts: dict[str, str | float | bool] = {"tutors": _listed([tutor.user for tutor in tutors], 20)}
    if unknown:
        text = tell("ready.tutors_unknown", users=_listed(unknown))
        return ChecklistItem(
            "tutors",
            None,
            (text,),
            _("tell the organisers: a tutor's account is missing or misspelt in hackathon.yaml"),
            facts,
        )
    users = _listed([tutor.user for tutor in tutors])
    text = tell("ready.tutors_read", users=users, path=situation.project, count=len(paths))
    return ChecklistItem("tutors", True, (text,), facts=facts)


def _listed(names: list[str], most: int = SHOWN) -> str:
    more = [f"+{len(names) - most}"] if len(names) > most else []
    return clean_line(", ".join([*names[:most], *more]))
