"""Checks of how a run ended: the scheduler's state, refused submissions, signals and exit codes of ranks."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hackathon.diagnosis.check_command import NOT_KNOWN
from hackathon.diagnosis.facts import FACTS, Check, FactHit, RunFacts, fact
from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.hangs.stacks import Stack, stacks_of
from hackathon.runs import states
from hackathon.runs.events import KILL, Failure
from hackathon.text.files import LARGEST, open_regular, read_json
from hackathon.text.json_fields import moment_of

_STATES = (states.TIMEOUT, states.OUT_OF_MEMORY, states.CANCELLED, states.NODE_FAILED, states.LOST)
_CAUSES = ("never_started", "no_trace", "refused", "never_runs")
_SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV"}
_CODES = (75, 78, 126, 127)


def killed_ranks(facts: RunFacts) -> dict[int, bool]:
    """Return rank → whether it had been asked to stop, for ranks that were killed or did not record their end."""
    killed = {}
    for rank, listed in facts.rank_events.items():
        kinds = {event.get("event"): event for event in listed}
        if "started" in kinds and kinds.get("ended", {"signal": KILL}).get("signal") == KILL:
            killed[rank] = facts.was_told(rank, "TERM")
    return killed


def _of_state(state: str) -> Check:
    def check(facts: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
        status = facts.status
        if status is None or status.state != state or status.cause == "preflight_failed":
            return []
        first = facts.first_failure
        if state == states.OUT_OF_MEMORY and first is not None and first[1].get("signal") == KILL:
            return [_of_rank(facts, first, {})]  # the scheduler names the job, the ranks' records name the rank
        values = {}
        if state == states.CANCELLED:
            values = _by(facts)
        elif state == states.TIMEOUT:
            from hackathon.diagnosis.hangs.pause import still

            values = still(facts)
        return [FactHit(evidence=_of_scheduler(facts), values=values)]

    return check


def _of_cause(cause: str) -> Check:
    def check(facts: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
        if facts.status is None or facts.status.cause != cause:
            return []
        return [FactHit(evidence=_refusal(facts) if cause == "refused" else _of_scheduler(facts))]

    return check


def _of_signal(number: int) -> Check:
    def check(facts: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
        first = facts.first_failure
        values = {"signal": str(number), "signal_name": _SIGNALS[number]}
        if first is not None and first[1].get("signal") == number and not facts.was_told(first[0]):
            return [_of_rank(facts, first, values)]
        return [FactHit(_of_job(facts), values)] if _of_whole_job(facts, "signal", number) else []

    return check


def _of_code(code: int) -> Check:
    def check(facts: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
        first = facts.first_failure
        if first is not None and first[1].get("exit_code") == code and not facts.was_told(first[0]):
            return [_of_rank(facts, first, {"exit_code": str(code)})]
        return [FactHit(_of_job(facts))] if _of_whole_job(facts, "exit_code", code) else []

    return check


def _vanished(facts: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report ranks that started and did not record their end, although the job itself ended."""
    first = facts.first_failure
    gone = first is not None and first[1].get("exit_code") is None
    return [_of_rank(facts, first, {})] if gone and first is not None else []


def _of_whole_job(facts: RunFacts, name: str, value: int) -> bool:
    """Return whether the job itself ended with this signal or exit code, before any rank did."""
    status = facts.status
    if status is None or status.state != states.FAILED or facts.first_failure is not None:
        return False
    return bool(getattr(status, name) == value)


def _of_rank(facts: RunFacts, failure: Failure, values: dict[str, str]) -> FactHit:
    """Return the end of one rank as a hit, with the name of its log."""
    rank, event = failure
    host = str(event.get("host") or facts.host_of.get(rank, ""))
    name = f"events/rank-{rank}.jsonl"
    kind = "ended" if event.get("exit_code") is not None else "started"
    text = ", ".join(f"{key} {event[key]}" for key in ("exit_code", "signal") if event.get(key) is not None)
    line = _line_with(facts.path / name, f'"event":"{kind}","attempt":{facts.attempt}')
    moment = event.get("t")
    evidence = Evidence(
        name,
        line,
        f"{kind}: {text}" if text else kind,
        rank,
        host,
        float(moment) if kind == "ended" and moment else None,
    )
    return FactHit(evidence, {"rank": str(rank), "host": host or NOT_KNOWN, **values}, (rank,))


def _of_job(facts: RunFacts) -> Evidence:
    name = "events/job.jsonl"
    status = facts.status
    event: dict[str, Any] = next((event for event in reversed(facts.job_events) if event.get("event") == "ended"), {})
    text = f"exit_code {status.exit_code}" if status else ""
    line = _line_with(facts.path / name, f'"event":"ended","attempt":{facts.attempt}')
    return Evidence(name, line, text, None, str(event.get("host") or ""))


def _of_scheduler(facts: RunFacts) -> Evidence:
    """Return where the scheduler's last state is recorded: the seal, or its last report."""
    status = facts.status
    raw = " ".join(word for word in (status.raw, status.reason) if word) if status else ""
    name = "final.json" if status is not None and status.sealed else "client/seen.json"
    line = _line_with(facts.path / name, '"state"')
    hosts = status.hosts if status else ()
    return Evidence(name, line, raw or (status.state if status else ""), None, hosts[0] if len(hosts) == 1 else "")


def _refusal(facts: RunFacts) -> Evidence:
    name = "client/refused.json"
    value = read_json(facts.path / name)
    text = str(value.get("message", "")) if isinstance(value, dict) else ""
    return Evidence(name, _line_with(facts.path / name, '"message"'), " ".join(text.split())[:500])


def _by(facts: RunFacts) -> dict[str, str]:
    return {"by": str(facts.run.client("cancelled").get("by") or NOT_KNOWN)}


def _line_with(path: Path, text: str) -> int | None:
    """Return the number of the last line that contains a text, None when there is none."""
    last = None
    try:
        with open_regular(path) as stream:
            if os.fstat(stream.fileno()).st_size > LARGEST:  # a single huge line would be read into memory
                return None
            for number, line in enumerate(stream, 1):
                if text.encode() in line:
                    last = number
    except OSError:
        return None
    return last


FACTS.update({f"state:{state}": _of_state(state) for state in _STATES})
FACTS.update({f"cause:{cause}": _of_cause(cause) for cause in _CAUSES})
FACTS.update({f"signal:{number}": _of_signal(number) for number in _SIGNALS})
FACTS.update({f"exit:{code}": _of_code(code) for code in _CODES})
FACTS["rank:vanished"] = _vanished


_MEETS = re.compile(r"/torch/distributed/\S* init_process_group|/horovod/\S* init|/chainermn/\S* create_communicator")

LATE = 60.0
"""Seconds after the start of the last rank in which joining is normal: imports take that long."""


@fact("hang:meeting")
def still_meeting(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report a job that was stopped from outside while every rank with a stack waited for the others to join."""
    if run.record.processes < 2 or run.status is None or run.status.state not in (states.TIMEOUT, states.CANCELLED):
        return []
    stacks = stacks_of(run.path)
    if not stacks or not all(_meets(stack) for stack in stacks) or run.failed_by_itself:
        return []
    began = [moment for listed in run.rank_events.values() for moment in [moment_of(listed[0].get("t"))] if moment]
    if not began or max(stack.written for stack in stacks) - max(began) < LATE:
        return []
    first = stacks[0]
    values = {
        "waiting": str(len(stacks)),
        "processes": str(run.record.processes),
        "place": first.own.place if first.own is not None else first.frames[0].place,
    }
    return [FactHit(first.evidence(run.host_of.get(first.rank, "")), values)]


def _meets(stack: Stack) -> bool:
    for frame in stack.frames:
        if frame.own:
            return False
        if _MEETS.search(f"{frame.path} {frame.function}"):
            return True
    return False
