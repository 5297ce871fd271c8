"""Find the rank that the others waited for, from watchdog messages, metrics and the ranks' stacks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from hackathon.config.rule import Rule
from hackathon.diagnosis.check_command import NOT_KNOWN
from hackathon.diagnosis.facts import RunFacts
from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.hangs.hang import QUIET, QUIET_LINES, WORDS, Hang, find_hang, last_steps
from hackathon.diagnosis.hangs.stacks import Stack, find_elsewhere, stack_of_loss, stacks_of
from hackathon.diagnosis.log_tails import End, alike, last_tracebacks, look_around
from hackathon.diagnosis.order import RulePlace
from hackathon.diagnosis.render_finding import line_number
from hackathon.diagnosis.scan import LogFile
from hackathon.logs.metrics import rank_files, rank_of
from hackathon.runs import states
from hackathon.text.json_fields import moment_of

STEPLESS, STEPLESS_STEPS = 15.0, 20.0
"""By the ranks' recorders a run stood still after so many seconds without a step, and so many times a usual step."""
LIBRARIES = frozenset({"nccl", "gloo", "horovod", "mpi", "chainermn"})
"""Parts whose messages about waiting concern ranks; those of a scheduler concern the walltime."""


class Standstill:
    """A run, or files that belong together, whose ranks may have waited for each other."""

    def __init__(
        self,
        ends: Sequence[End],
        files: Sequence[LogFile],
        facts: RunFacts | None,
        by_fact: Mapping[str, Rule],
        ranks: Collection[int] = (),
    ) -> None:
        """`by_fact`: fact → the rule that names it. `ranks`: those that a launcher names."""
        self._ends, self._files, self._facts, self._by_fact = ends, files, facts, by_fact
        self._ranks = ranks

    def told(self, matches: list[RulePlace]) -> list[RulePlace]:
        """Return the matches, with the ranks that the others waited for if there was a hang."""
        waiting = [match for match in matches if match.evidence is not None and WORDS.search(match.evidence.text)]
        facts = self._facts
        steps: dict[int, float] = {}
        processes = 0
        if facts is not None and facts.status is not None:
            processes = facts.record.processes
            if facts.status.state in (states.TIMEOUT, states.CANCELLED):
                steps = last_steps(facts.metrics, facts.status.t_ended)
        hang = find_hang(self._ends, self._files, processes or None, steps, self._ranks) if waiting or steps else None
        complained = any(match.rule.part in LIBRARIES for match in waiting)
        if hang is None and processes and (complained or self._stood_still):
            hang = find_elsewhere(list(self._stacks.values()), processes)
        if hang is None:
            return matches
        return self._with(hang, matches, waiting)

    def _with(self, hang: Hang, matches: list[RulePlace], waiting: Sequence[RulePlace]) -> list[RulePlace]:
        part = hang.library or "framework"
        stack = self._stacks.get(hang.missing[0])
        evidence = self._last_words(hang.missing[0])
        own_line = stack.own.place if stack is not None and stack.own is not None else ""
        # an exception's evidence is in the log, not in the file of stacks
        if stack is not None and stack is not self._lost.get(stack.rank):
            host = evidence.host if evidence is not None else ""
            evidence = stack.evidence(host or (self._facts.host_of.get(stack.rank, "") if self._facts else ""))
        values = _values(hang, stack)
        ranks, kind = hang.missing, hang.library or ("stacks" if own_line else "")
        partner = next((other for other in self._stacks.values() if other.rank not in hang.missing and other.own), None)
        if hang.mismatched and kind == "stacks" and partner is not None and partner.own is not None:
            kind, values = "apart", values | {"others": partner.waits, "elsewhere": partner.own.place}
            if 2 * len(ranks) == len(self._stacks):
                ranks = ()  # which half went astray is not known
        changed: list[RulePlace] = []
        for match in matches:
            if match in waiting and match.rule.part == part and match.rule.level in ("root", "likely"):
                own = evidence or replace(match.evidence or Evidence("", None, ""), rank=hang.missing[0], host="")
                merged = {**match.values, **values}
                match = replace(match, evidence=own, values=merged, ranks=hang.missing, hang=True, own_line=own_line)
            changed.append(match)
        if not any(match.hang for match in changed):
            name = f"log:hang-{kind}".removesuffix("-")
            first = waiting[0].evidence if waiting else None
            fallback = replace(first, rank=hang.missing[0], host="") if first else None
            if (rule := self._by_fact.get(name)) is not None:
                changed.append(
                    RulePlace(rule, evidence or fallback, values, ranks=ranks, own_line=own_line, fact=True, hang=True)
                )
        return changed

    @cached_property
    def _stacks(self) -> dict[int, Stack]:
        """Rank → its stack, for a run that did not succeed."""
        facts = self._facts
        if facts is None or facts.status is None or facts.status.state == states.SUCCEEDED:
            return {}
        stacks = {stack.rank: stack for stack in stacks_of(facts.path)}
        return stacks | {
            rank: stack for rank, stack in self._lost.items() if rank not in stacks or not stacks[rank].waits
        }

    @cached_property
    def _lost(self) -> dict[int, Stack]:
        """Rank → where it waited for a rank that had been stopped before it.

        Signals reach the nodes one after another. A rank that waits for one that is gone raises an exception before its
        own signal arrives; its last stack, if any, shows how it exits.
        """
        facts = self._facts
        if facts is None or facts.first_told is None:
            return {}
        lost = {}
        for traceback in last_tracebacks(self._ends, self._files):
            file = self._files[traceback.file]
            rank = file.rank if traceback.rank is None else traceback.rank
            if rank is None or look_around(file, traceback.at, Evidence(file.name, None, "", rank)).went_on:
                continue
            if (stack := stack_of_loss(rank, traceback, facts.first_told)) is not None:
                lost[rank] = stack
        return lost

    @cached_property
    def _stood_still(self) -> bool:
        """Whether no rank had printed for a while when the stacks were written, and no rank failed by itself.

        The ranks of a program that computes have stacks too, but they are seldom all at the same line.
        """
        facts = self._facts
        if facts is None or len(self._stacks) < 2:
            return False
        if facts.failed_by_itself:  # the others waited for the rank that failed
            return False
        if self._made_no_step(facts):
            return True
        written = max(stack.written for stack in self._stacks.values())
        ending = facts.first_told
        printed = []
        for path in rank_files(facts.path / "logs", ".log"):
            try:
                stat = path.stat()
            except OSError:
                return False
            if stat.st_size:
                moment = self._told_of(rank_of(path)) or stat.st_mtime
                if ending is not None and moment >= int(ending):
                    moment = self._last_step(rank_of(path), ending) or moment
                printed.append(moment)
        if not printed:  # the length of its steps is unknown, so only waiting in a call for other ranks counts
            return written - (facts.begun or 0) >= QUIET and any(stack.in_collective for stack in self._stacks.values())
        newest = max(printed)
        lines = max((alike(line.read.text for line in end.lines) for end in self._ends), default=0) or 1
        return written - newest >= max(QUIET, QUIET_LINES * (newest - (facts.stepping_since(newest) or 0)) / lines)

    def _made_no_step(self, facts: RunFacts) -> bool:
        """Return whether every rank's recorder was still writing a while after that rank's last step.

        A short run has printed a moment ago and stood still all the same.
        """
        ranks = range(facts.record.processes)
        for rank in ranks:
            recording, written = facts.steps(rank), facts.steps_written(rank)
            first, last = moment_of(recording.get("first_step")), moment_of(recording.get("last_step"))
            steps = recording.get("steps")
            if written is None or first is None or last is None or not isinstance(steps, int) or steps < 2:
                return False
            if written - last < max(STEPLESS, STEPLESS_STEPS * (last - first) / (steps - 1)):
                return False
        return bool(ranks)

    def _told_of(self, rank: int) -> float | None:
        """Return when a rank last printed before it was asked to stop: its shell prints `Terminated` after that."""
        listed = self._facts.rank_events.get(rank, ()) if self._facts is not None else ()
        ending = next((event for event in listed if event.get("event") == "told"), {})
        return moment_of(ending.get("printed"))

    def _last_step(self, rank: int, ending: float) -> float | None:
        """Estimate when the last step ended of a rank that raised an exception while the run was being stopped.

        The time of its last output is lost, but its recorder wrote the time of all steps until its last write. The time
        from that write to the end counts as steps.
        """
        raised = any(end.tracebacks for end, file in zip(self._ends, self._files, strict=True) if file.rank == rank)
        if self._facts is None or not raised:
            return None
        written = self._facts.steps_written(rank)
        last = moment_of(self._facts.steps(rank).get("last_step"))
        return None if written is None or last is None else last + max(0.0, ending - written)

    def _last_words(self, rank: int) -> Evidence | None:
        """Return the last line that is known to be a rank's own, None without one."""
        for number, (end, file) in enumerate(zip(self._ends, self._files, strict=True)):
            for line in reversed(end.lines):
                own = line.read.rank if line.read.rank is not None else file.rank
                if own == rank and line.read.text.strip():
                    host = line.read.host or file.host
                    at = line_number(self._files[number].path, line.offset)
                    return Evidence(file.name, at, line.read.text.strip()[:500], rank, host, line.read.time)
        return None


def _values(hang: Hang, stack: Stack | None) -> dict[str, str]:
    number = f" #{hang.number}" if hang.number is not None else ""
    own = stack.own if stack is not None else None
    return {
        "missing": ", ".join(str(rank) for rank in hang.missing),
        "operation": f"{hang.operation}{number}" if hang.operation else NOT_KNOWN,
        "place": own.place if own is not None else NOT_KNOWN,
        "function": own.function if own is not None else NOT_KNOWN,
    }
