"""Read from a run's files when its job held nodes; `runs.lives` computes the lives."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hackathon.runs.directory import REMOVED, RunDirectory
from hackathon.runs.events import job_events
from hackathon.runs.job_owner import OTHER_RUN, OWN, UNTOLD, whose_charge
from hackathon.runs.lives import LONGEST, MOST_GPUS, MOST_NODES, NOT_THE_RUNS, OVER, RunUse
from hackathon.runs.markers import read_final, read_markers
from hackathon.runs.record import RunRecord
from hackathon.runs.states import ENDED, FAILED, HELD, LOST, QUEUED, RUNNING, SUCCEEDED, RunStatus
from hackathon.runs.status import job_state, status
from hackathon.schedulers.base import OPEN_STATES
from hackathon.schedulers.reports import JobAccounting
from hackathon.text.json_fields import moment_of, text_of
from hackathon.text.numbers import finite, integer


def use_of(run: RunDirectory, now: float) -> RunUse:
    """Return what a run used, according to its folder.

    Nothing is written and no scheduler is asked. Raises RequestError (no readable record) and OSError.
    """
    run.record()
    final = read_final(run)
    state = RunStatus.from_final(run.id, final) if final is not None else _open_state(run, now)
    return use_by(run, state)


def use_by(run: RunDirectory, state: RunStatus, memory: Mapping[str, Any] | None = None) -> RunUse:
    """Return what a run in this state used; `memory`: the scheduler's last answer, when it is not in the folder.

    Raises RequestError (no readable record) and OSError.
    """
    record = run.record()
    adopted = record.adopted
    answer: Mapping[str, Any] = {} if state.state == SUCCEEDED and adopted is None else memory or run.client("seen")
    if adopted is not None and not answer and adopted.job:
        answer = {**adopted.job, "t": adopted.t}
        job = job_state(answer)
        if not state.sealed and job is not None and job.state not in OPEN_STATES:
            state = replace(state, state=SUCCEEDED, t_started=job.start, t_ended=job.end)
    nodes, gpus, odd = _size(record, state)
    if record.inside_allocation:
        nodes = gpus = 0  # the enclosing allocation is charged, not its parts
    attempts = _attempts(run, state)
    return RunUse(
        id=run.id,
        cluster=record.cluster,
        scheduler=record.scheduler,
        job_id=text_of(state.job_id),
        team=record.team,
        user=run.path.stat().st_uid,
        nodes=nodes,
        gpus_per_node=gpus,
        gpus_wanted=record.processes_per_node * record.gpus_per_process or gpus,
        walltime=min(record.walltime, int(LONGEST)),
        created=moment_of(state.t_created) or record.created,
        queue=record.queue,
        adopted=adopted is not None,
        removed=run.path.parent.name == REMOVED,
        state=state.state,
        sealed=state.sealed,
        attempts=attempts,
        said=_said(answer, state),
        missed=_missed(answer, state, attempts[-1][0]) if attempts else None,
        waiting=state.state in (QUEUED, HELD) and not run.client("cancelled") and "absent_since" not in answer,
        size_odd=odd,
    )


def with_account(use: RunUse, run: RunDirectory, account: JobAccounting) -> RunUse:
    """Return the use with the scheduler's accounting, which is asked again while one of its charges is running.

    Charges of other jobs are skipped, with a doubt: a run's files can name anybody's job. Charges that ended before the
    run was created are skipped silently: job numbers restart with a site's database. (A run may have adopted another
    run's job.) Raises OSError when the run is gone.
    """
    foreign = NOT_THE_RUNS - {OTHER_RUN} if use.adopted else NOT_THE_RUNS
    judged = [(charge, *whose_charge(run, charge)) for charge in account.charges]
    if not use.adopted:
        judged = [(charge, word, owner) for charge, word, owner in judged
                  if word in (OWN, UNTOLD) or charge.end is None or charge.end > use.created - OVER]  # fmt: skip
    charges = tuple(charge for charge, word, _ in judged if word not in foreign)
    closed = use.closed and all(charge.end is not None for charge in charges)
    doubts = [(word, owner) for _, word, owner in judged if word == UNTOLD or not charges]
    use = replace(use, asked=closed, doubt=doubts[0] if doubts else None)
    if account.charges and not charges:
        return use
    return replace(use, account=JobAccounting(charges, account.whole))


def with_account_of(use: RunUse, before: RunUse) -> RunUse:
    """Return a newly read use with the known accounting of the same attempts."""
    if not before.asked or not use.closed or use.attempts != before.attempts:
        return use
    return replace(use, account=before.account, asked=True, doubt=before.doubt)


def with_missed_of(use: RunUse, before: RunUse) -> RunUse:
    """Return a use that was read without asking, with the earlier fact that the scheduler missed its job.

    Users who may not write in a run keep that fact in the index.
    """
    missed_before = before.state == LOST and before.missed is not None and before.attempts == use.attempts
    return replace(use, state=LOST, missed=before.missed) if missed_before and use.state == RUNNING else use


def _open_state(run: RunDirectory, now: float) -> RunStatus:
    """Return the state of a run that is not sealed, without searching the cause of a failure."""
    markers = read_markers(run)
    if markers.ended is None or (markers.exit_code != 0 and run.client("seen").get("state") in (QUEUED, HELD)):
        return status([run], ask=False, now=now, write=False)[0]
    return RunStatus(
        run.id, SUCCEEDED if markers.exit_code == 0 else FAILED, job_id=markers.job_id, attempt=markers.attempt,
        t_created=markers.created, t_started=markers.started, t_ended=markers.ended,
    )  # fmt: skip


def _attempts(run: RunDirectory, state: RunStatus) -> tuple[tuple[float, float | None], ...]:
    """Return (started, ended) of every attempt, the latest one by the state; empty if the job never began."""
    attempts = [] if state.sealed and state.attempt == 1 else _in_events(run)
    started = moment_of(state.t_started) or (attempts[-1][0] if attempts else None)
    if started is None:
        return ()
    ended = (moment_of(state.t_ended) if state.state in ENDED else None) or (attempts[-1][1] if attempts else None)
    return (*attempts[:-1], (started, ended))


def _in_events(run: RunDirectory) -> list[tuple[float, float | None]]:
    """Return (started, ended) of every attempt in the job's events, in order."""
    attempts: dict[int, tuple[float, float | None]] = {}
    for event in job_events(run.path):
        kind, attempt, moment = event.get("event"), integer(event.get("attempt", 1)), moment_of(event.get("t"))
        if attempt is None or moment is None:
            continue
        if kind == "started":
            attempts[attempt] = (moment, None)
        elif kind == "ended" and attempt in attempts:
            attempts[attempt] = (attempts[attempt][0], moment)
    return [attempts[number] for number in sorted(attempts)]


def _said(answer: Mapping[str, Any], state: RunStatus) -> tuple[float, float] | None:
    """Return start and end of the latest attempt by the scheduler's answer after the end."""
    job = job_state(dict(answer))
    if job is None or job.state in OPEN_STATES or state.state not in ENDED:
        return None
    if "attempt" in answer and integer(answer["attempt"]) != state.attempt:
        return None
    start, end = moment_of(job.start), moment_of(job.end)
    return (start, end) if start is not None and end is not None and end >= start else None


def _missed(answer: Mapping[str, Any], state: RunStatus, started: float) -> float | None:
    again = answer.get("since") if state.state in (QUEUED, HELD) else None
    moments = (finite(answer.get("absent_since")), finite(again))
    return min((moment for moment in moments if moment is not None and moment >= started), default=None)


def _size(record: RunRecord, state: RunStatus) -> tuple[int, int, bool]:
    """Return nodes, GPUs per node, and whether the record is impossible: then the known hosts count.

    A job that was adopted while it waited had no hosts yet.
    """
    nodes, gpus = record.nodes, record.gpus_per_node
    if record.adopted is not None:
        nodes = max(nodes, len(state.hosts))
    few, fit = 0 < nodes <= MOST_NODES, gpus <= MOST_GPUS
    return nodes if few else max(1, len(state.hosts)), gpus if fit else 0, not (few and fit)
