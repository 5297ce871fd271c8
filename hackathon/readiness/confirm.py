"""Verify a team's checklist from another account: does the run exist, whose is it, did it succeed?

All files belong to others, who may have written anything, so reads are bounded and stay inside their folders.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.access.permissions import account, group_names
from hackathon.board.entry import LINE, Proof, clean_line
from hackathon.board.people import People
from hackathon.board.store import SKEW
from hackathon.readiness.probe import LIMIT, differing, seconds_of, told_by, wanted_by
from hackathon.readiness.results import check_of, rate_of
from hackathon.readiness.situation import tutors_of
from hackathon.readiness.tutoring import closed_to
from hackathon.runs.directory import RunDirectory, files_of
from hackathon.runs.record import RunRecord
from hackathon.runs.states import OPEN, SUCCEEDED, RunStatus
from hackathon.text.errors import HackathonError
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.config.event import Team

_WHY_TEXTS = {
    "no_account": N_("account {user} does not exist on this machine"),
    "no_group": N_("{user} is not in the Unix group {group}"),
    "other_group": N_("run {run} did not run under {group}"),
    "only_told": N_("none of it can be checked from here"),
    "silent": N_("run {run} has no result for it"),
    "not_imported": N_("{name} was not imported in run {run}"),
    "not_seen": N_("run {run} did not read {path} with the same content"),
    "slow": N_("run {run} did not finish within {limit} s"),
    "not_passed": N_("run {run} did not pass a check"),
    "no_rate": N_("run {run} is not a one-process run with a throughput"),
    "other_value": N_("run {run} has another value"),
    "no_folder": N_("it does not name a folder"),
    "no_run_named": N_("it does not name a run"),
    "gone": N_("run {run} does not exist"),
    "unreadable": N_("it cannot be read from here: {what}"),
    "other_owner": N_("{path} belongs to {owner}, who is not in the team"),
    "strange": N_("run {run} contains links or pipes that lead outside"),
    "large": N_("the logs of run {run} are too large to be checked here"),
    "copied": N_("run {run} was created by {user}, who is not in the team"),
    "open": N_("run {run} was {word} when last checked"),
    "not_succeeded": N_("run {run} is {word}"),
    "future": N_("the times of run {run} are in the future"),
    "no_probe": N_("run {run} was not started by `hackathon ready`"),
    "no_training": N_("run {run} does not train anything"),
    "tutor_unknown": N_("the tutors' accounts do not exist here: {users}"),
    "closed": N_("{user} cannot read {path}"),
}

CONFIRMED, TOLD, REFUTED, NO, UNKNOWN = "confirmed", "told", "refuted", "no", "unknown"
MOST_LOGS = 256 << 20
"""Bytes of one run's logs and metrics that are read."""
SAME = 1e-6
"""Relative difference up to which two values are the same."""
_FILES = ("request.json", "final.json", "client", "claim", "events", "logs", "metrics", "source", "env")


class Unconfirmed(Exception):
    """Why a claim is not confirmed: its state (told: not visible from here; refuted: false), and a text."""

    def __init__(self, state: str, key: str, **values: object) -> None:
        self.state = state
        self.text = clean_line(_(_WHY_TEXTS[key], **values))
        super().__init__(self.text)


@dataclass(frozen=True)
class Claims:
    """One account's checklist, and the accounts that may own its evidence."""

    folder: str
    """The project's folder in the checklist."""
    user: str
    """The account that owns the checklist."""
    team: "Team"
    members: Mapping[int, str]
    """The team's accounts by number."""
    people: People
    now: float

    def judge(self, proof: Proof) -> tuple[str, str]:
        """Return the state of one point and why it is not confirmed, in the current language."""
        if proof.ok is None:
            return UNKNOWN, ""
        if not proof.ok:
            return NO, ""
        looks = {
            "account": self._account,
            "environment": self._environment,
            "data": self._data,
            "job": self._job,
            "check": self._check,
            "baseline": self._baseline,
            "tutors": self._tutors,
        }
        try:
            looks[proof.name](proof)
        except Unconfirmed as doubt:
            return doubt.state, doubt.text
        except (HackathonError, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            # a foreign file can hold anything, and one failure must not stop the other rows
            return TOLD, clean_line(_("it cannot be read from here: {what}", what=error))
        return CONFIRMED, ""

    def _account(self, proof: Proof) -> None:
        member = account(self.user)
        group = self.team.group
        if member is None:
            raise Unconfirmed(TOLD, "no_account", user=self.user)
        if not group or group in group_names(member.groups):
            return
        if "run" not in proof.facts:
            raise Unconfirmed(TOLD, "no_group", user=self.user, group=group)
        run, __ = self._probe(proof)  # a group of the scheduler: a job that ran under it shows that it may be used
        if run.record().group != group:
            raise Unconfirmed(REFUTED, "other_group", run=run.id, group=group)

    def _environment(self, proof: Proof) -> None:
        run, __ = self._probe(proof)
        report, task = told_by(run.path), wanted_by(run.path)
        if report is None:
            raise Unconfirmed(REFUTED, "silent", run=run.id)
        lacking = [name for name in task.modules if name not in report.versions]
        if lacking:
            raise Unconfirmed(REFUTED, "not_imported", run=run.id, name=lacking[0])

    def _data(self, proof: Proof) -> None:
        if "run" not in proof.facts:
            raise Unconfirmed(TOLD, "only_told")
        run, __ = self._run(proof)
        if not run.record().probe:
            return  # no data are declared, and a successful run found the data that it reads
        report, task = told_by(run.path), wanted_by(run.path)
        if report is None or not task.files:
            raise Unconfirmed(REFUTED, "silent", run=run.id)
        bad = differing(task, report)
        if bad:
            raise Unconfirmed(REFUTED, "not_seen", run=run.id, path=bad[0][0])

    def _job(self, proof: Proof) -> None:
        run, state = self._probe(proof)
        seconds = seconds_of(state.t_started, state.t_ended)
        if seconds is None or seconds >= LIMIT:
            raise Unconfirmed(REFUTED, "slow", run=run.id, limit=f"{LIMIT:.0f}")

    def _check(self, proof: Proof) -> None:
        run, __ = self._run(proof)
        check = check_of(run.path, self._training(run))
        if check is None or not check.passed:
            raise Unconfirmed(REFUTED, "not_passed", run=run.id)
        self._same(proof, run, check.value)

    def _baseline(self, proof: Proof) -> None:
        run, __ = self._run(proof)
        rate = rate_of(run.path, self._training(run))
        if rate is None:
            raise Unconfirmed(REFUTED, "no_rate", run=run.id)
        self._same(proof, run, rate.value)

    def _tutors(self, proof: Proof) -> None:
        folder = self._project()
        tutors, unknown = tutors_of(self.team)
        if unknown or not tutors:
            raise Unconfirmed(TOLD, "tutor_unknown", users=", ".join(unknown))
        for tutor in tutors:
            closed = closed_to(tutor, folder, ())
            if closed is not None:
                raise Unconfirmed(REFUTED, "closed", user=tutor.user, path=closed)
        # an organiser who is not root owns the teams' folders, so what the team created in them counts
        owners = [path.stat().st_uid for path in (folder, folder / "runs") if path.exists()]
        if not self.members.keys() & set(owners):
            raise Unconfirmed(REFUTED, "other_owner", owner=self.people.account(folder.stat().st_uid), path=folder)

    def _same(self, proof: Proof, run: RunDirectory, value: float) -> None:
        claim = proof.facts.get("value")
        if not isinstance(claim, float) or not math.isclose(claim, value, rel_tol=SAME):
            raise Unconfirmed(REFUTED, "other_value", run=run.id)

    def _project(self) -> Path:
        if not self.folder.startswith("/") or "\0" in self.folder:
            raise Unconfirmed(REFUTED, "no_folder")
        if len(self.folder) >= LINE:  # it was truncated
            raise Unconfirmed(TOLD, "only_told")
        return Path(self.folder)

    def _probe(self, proof: Proof) -> tuple[RunDirectory, RunStatus]:
        run, state = self._run(proof)
        if not run.record().probe:
            raise Unconfirmed(REFUTED, "no_probe", run=run.id)
        return run, state

    def _training(self, run: RunDirectory) -> RunRecord:
        record = run.record()
        if record.probe:
            raise Unconfirmed(REFUTED, "no_training", run=run.id)
        return record

    def _run(self, proof: Proof) -> tuple[RunDirectory, RunStatus]:
        """Return a claimed run that exists, belongs to the team and succeeded. Raises Unconfirmed."""
        name = proof.facts.get("run")
        if not isinstance(name, str) or not name or name.startswith(".") or Path(name).name != name:
            raise Unconfirmed(REFUTED, "no_run_named")
        path = self._project() / "runs" / name
        try:
            owner = path.stat().st_uid
        except (FileNotFoundError, NotADirectoryError):
            raise Unconfirmed(REFUTED, "gone", run=name) from None
        except OSError as error:
            raise Unconfirmed(TOLD, "unreadable", what=error.strerror or error) from None
        if owner not in self.members:
            raise Unconfirmed(REFUTED, "other_owner", owner=self.people.account(owner), path=path)
        inside = files_of(path)
        if inside.refused(_FILES):
            raise Unconfirmed(TOLD, "strange", run=name)
        if sum(inside.sizes(("logs", "metrics"))) > MOST_LOGS:
            raise Unconfirmed(TOLD, "large", run=name)
        if inside.read("request.json", 1) is None:
            raise Unconfirmed(TOLD, "unreadable", what=path / "request.json")
        run = RunDirectory(path)
        maker = run.known().user
        if maker and maker not in self.members.values():
            raise Unconfirmed(REFUTED, "copied", run=name, user=maker)
        return run, self._succeeded(run)

    def _succeeded(self, run: RunDirectory) -> RunStatus:
        from hackathon.runs.status import status

        state = status([run], ask=False, write=False)[0]
        if state.state in OPEN:
            raise Unconfirmed(TOLD, "open", run=run.id, word=state.state)
        if state.state != SUCCEEDED:
            raise Unconfirmed(REFUTED, "not_succeeded", run=run.id, word=clean_line(state.state))
        if max(state.t_started or 0.0, state.t_ended or 0.0) > self.now + SKEW:
            raise Unconfirmed(REFUTED, "future", run=run.id)
        return state


def members_of(team: "Team") -> dict[int, str]:
    """Return the accounts of a team's members by number, without members who have no account here."""
    accounts = ((account(user), user) for user in team.accounts)
    return {member.uid: user for member, user in accounts if member is not None}
