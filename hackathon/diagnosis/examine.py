"""Apply all rules to logs and to a run's records, and order what matches: the cause first."""

import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hackathon.config.rule import ANY_EXCEPTION, EXCEPTION, FIRST_EVENT, LEVELS, Rule
from hackathon.diagnosis.check_command import NOT_KNOWN, commands_here
from hackathon.diagnosis.checks import find_check
from hackathon.diagnosis.copied_paths import left_behind
from hackathon.diagnosis.events import (
    LETTERS,
    events_of,
    exception_kind,
    failed_command,
    kind_of_words,
    members,
    on_gpu_zero,
)
from hackathon.diagnosis.exit_checks import killed_ranks
from hackathon.diagnosis.exits import (
    Exits,
    first_exit,
    first_killed,
    labelled_ranks,
    left_among,
    left_before,
    read_exits,
)
from hackathon.diagnosis.facts import FactHit, RunFacts
from hackathon.diagnosis.findings import Evidence, Finding
from hackathon.diagnosis.hangs.standstill import LIBRARIES, Standstill
from hackathon.diagnosis.log_tails import (
    End,
    TailLine,
    Traceback,
    finished,
    is_source,
    is_warning,
    last_tracebacks,
    look_around,
    read_end,
)
from hackathon.diagnosis.needles import expression_of
from hackathon.diagnosis.order import Circumstances, Ranked, RulePlace, order
from hackathon.diagnosis.render_finding import finding_of
from hackathon.diagnosis.scan import LogFile, rule_set
from hackathon.diagnosis.source_checks import split, that_explain
from hackathon.diagnosis.sources import of_paths, of_run
from hackathon.diagnosis.survived import survived
from hackathon.diagnosis.trouble_lines import trouble_lines
from hackathon.diagnosis.unknown import rarest
from hackathon.runs import states
from hackathon.runs.directory import RunDirectory
from hackathon.runs.events import KILL
from hackathon.runs.states import RunStatus

TAIL, LEAST_TAIL, TAILS = 256 << 10, 32 << 10, 8 << 20
"""Bytes at the end of a log that are read line by line: at most, at least, and for all logs together."""
LOOKED_AT = 200
"""Matches whose surrounding lines are read."""
TRACEBACKS = 200
"""Tracebacks that are examined, from the first files."""
UNKNOWN = 8
"""Lines listed for a failure without a matching rule."""
# Messages of the kernel or the scheduler that a process was killed for memory.
_MEMORY = re.compile(r"(?i)\boom\b|oom[-_]kill|out of memory|memory limit|job killed: mem")
# They end a program without being a cause: the program was asked to stop, or another one failed.
_NO_CAUSE = frozenset(
    {
        "KeyboardInterrupt",
        "SystemExit",
        "SignalException",
        "SIGTERMException",
        "ChildFailedError",
        "ProcessExitedException",
    }
)
_EXCEPTION = re.compile(r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b")
_FOLLOWING = frozenset(
    {"BrokenPipeError", "ConnectionResetError", "ConnectionRefusedError", "ConnectionError", "EOFError"}
)
# Exceptions of a rank whose partners ended first, as all do when a job is stopped.
_OF_OTHERS = re.compile(r"(?i)gloo|nccl|connection|socket|broken pipe|time-?d?[ -]?out|peer|\branks?\b|process group")
# Message of a rank that gave up waiting for another: its later exceptions follow from that.
_GAVE_UP = re.compile(r"(?i)timed\s+out|time-?out|failed\s+to\s+pass\s+monitoredBarrier")


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis of one run, or of files that belong together."""

    findings: tuple[Finding, ...]
    """The cause first; empty when no rule matches."""
    unknown: tuple[Evidence, ...] = ()
    """Lines worth reading when no rule matches the failure."""
    harmless: tuple[Finding, ...] = ()
    """Messages that look bad but are harmless."""
    run: str = ""
    state: str = ""
    status: RunStatus | None = field(default=None, compare=False)
    slow: tuple[str, ...] = field(default=(), compare=False)
    """Ids of rules that took too long and were not applied to all lines."""
    unread: tuple[str, ...] = field(default=(), compare=False)
    """Files of the run that exist but could not be read; they may hold the cause."""

    @property
    def root(self) -> Finding | None:
        """The cause; None when no finding can be one."""
        first = self.findings[0] if self.findings else None
        return first if first is not None and first.level == "root" else None


def diagnose_run(
    run: RunDirectory,
    status: RunStatus | None = None,
    *,
    rules: Sequence[Rule] | None = None,
    folders: Sequence[Path] = (),
) -> Diagnosis:
    """Return the diagnosis of a run. Without `status`, the run's state is read from its directory."""
    if status is None:
        from hackathon.runs.status import status as states_of

        status = states_of([run], ask=False)[0]
    facts = RunFacts(run.path, status)
    examined = _Examined(of_run(facts), _rules(rules, folders), facts)
    return examined.diagnosis()


def diagnoses_json(diagnoses: Sequence[Diagnosis]) -> dict[str, Any]:
    """Return all findings, the cause of each run first; `run` and `state` are those of the only run, else null.

    `left_out`: ids of rules that were not applied to all lines.
    """
    findings = [
        {**finding.to_json(), **({"run": diagnosis.run} if len(diagnoses) > 1 else {})}
        for diagnosis in diagnoses
        for finding in diagnosis.findings
    ]
    only = diagnoses[0] if len(diagnoses) == 1 else None
    value: dict[str, Any] = {
        "run": (only.run or None) if only else None,
        "state": (only.state or None) if only else None,
        "findings": findings,
        "harmless": [finding.to_json() for diagnosis in diagnoses for finding in diagnosis.harmless],
        "unknown": [evidence.to_json() for diagnosis in diagnoses for evidence in diagnosis.unknown],
        "left_out": sorted({rule for diagnosis in diagnoses for rule in diagnosis.slow}),
    }
    if only is None:
        value["runs"] = [{"run": diagnosis.run or None, "state": diagnosis.state or None} for diagnosis in diagnoses]
    return value


def diagnose_files(
    paths: Sequence[Path],
    names: Sequence[str] | None = None,
    *,
    rules: Sequence[Rule] | None = None,
) -> Diagnosis:
    """Return the diagnosis of files that belong to one job; `names`: their names in the evidence."""
    names = [str(path) for path in paths] if names is None else names
    return _Examined(of_paths(paths, names), _rules(rules, ()), None).diagnosis()


def _rules(rules: Sequence[Rule] | None, folders: Sequence[Path]) -> Sequence[Rule]:
    if rules is not None:
        return rules
    from hackathon.config.rule_files import load_rules

    return load_rules(folders)[0]


class _Examined:
    """One examination of files and, for a run, its records."""

    def __init__(self, files: Sequence[LogFile], rules: Sequence[Rule], facts: RunFacts | None) -> None:
        self._rules, self._facts = rules, facts
        self._by_fact = {rule.fact: rule for rule in rules if rule.fact and not rule.patterns}
        self._exceptions = [rule for rule in rules if rule.fact.startswith(EXCEPTION)]
        self._first_event = rule.id if (rule := self._by_fact.get(FIRST_EVENT)) is not None else ""
        share = max(LEAST_TAIL, min(TAIL, TAILS // max(1, len(files))))
        self._ends: list[End] = [read_end(number, file, share) for number, file in enumerate(files)]
        self._files = [_merged(file, end) for file, end in zip(files, self._ends, strict=True)]
        self._exits: Exits = read_exits(self._ends)
        self._scanner = rule_set(rules).scanner
        self._slow: dict[str, None] = {}

    def diagnosis(self) -> Diagnosis:
        """Return the diagnosis."""
        # with thousands of ranks, the first matches of each level are enough
        matches = sorted(self._from_logs(), key=lambda match: LEVELS.index(match.rule.level))
        matches[:LOOKED_AT] = [self._looked_at(match) for match in matches[:LOOKED_AT]]
        matches += self._from_tracebacks(matches)
        matches += left_behind(matches, self._facts, self._by_fact)
        matches = self._with_ranks(matches)
        facts, sources = split(self._from_facts())
        matches = Standstill(self._ends, self._files, self._facts, self._by_fact, self._exits.ranks).told(
            [*matches, *facts]
        )
        matches += that_explain(sources, matches)
        matches += self._from_tables()
        circumstances = self._circumstances(matches)
        ranked = order(matches, circumstances)
        if circumstances.failed and not any(candidate.level in ("root", "likely") for candidate in ranked):
            matches += self._from_structure(matches)
            ranked = order(matches, circumstances)
        causes = [candidate for candidate in ranked if candidate.level in ("root", "likely")]
        if circumstances.failed and causes and all(cause.places[0].rule.part == "scheduler" for cause in causes):
            matches += self._from_members()
            ranked = order(matches, circumstances)
        numbers = self._facts.numbers if self._facts is not None else {"job": "JOB"}
        commands = self._facts.commands if self._facts is not None else commands_here()
        findings = tuple(finding_of(candidate, self._files, numbers, commands) for candidate in ranked)
        benign: dict[str, RulePlace] = {
            match.rule.id: match for match in reversed(matches) if match.rule.level == "benign"
        }
        harmless = tuple(
            finding_of(Ranked((match,), "benign", 0), self._files, numbers, commands) for match in benign.values()
        )
        status = self._facts.status if self._facts is not None else None
        return Diagnosis(
            findings,
            self._worth_reading(findings, _harmless(matches)),
            harmless,
            run=self._facts.path.name if self._facts is not None else "",
            state=status.state if status is not None else "",
            status=status,
            slow=tuple(self._slow | self._scanner.limits.ended),
            unread=tuple(self._facts.run.files.unsure()) if self._facts is not None else (),
        )

    def _worth_reading(self, findings: Sequence[Finding], harmless: Sequence[re.Pattern[str]]) -> tuple[Evidence, ...]:
        """Return lines to read when no finding can be the cause of a failure, none that matches `harmless`."""
        status = self._facts.status if self._facts is not None else None
        if any(finding.level in ("root", "likely") and finding.rule != self._first_event for finding in findings):
            return ()
        if self._facts is None and finished(self._ends):
            return ()
        if status is not None and (status.open or status.state in (states.SUCCEEDED, states.CREATED)):
            return ()
        first = self._facts.first_failure if self._facts is not None else None
        rank = first[0] if first is not None else None
        reported = {
            (finding.evidence.file, finding.evidence.line) for finding in findings if finding.evidence is not None
        }
        if self._facts is None and not findings:
            return tuple(trouble_lines(self._ends, self._files, harmless)[-UNKNOWN:])
        lines = rarest(self._files, UNKNOWN + len(reported), failed=status is not None, rank=rank)
        return tuple([line for line in lines if (line.file, line.line) not in reported][:UNKNOWN])

    def _from_logs(self) -> list[RulePlace]:
        matches = []
        hits = self._scanner.scan(self._files)
        self._slow |= self._scanner.limits.ended
        # a rank that one rule reads from a line holds for the other rules that match this line
        named = {hit.order: hit.values["rank"] for hit in hits if hit.values.get("rank")}
        for hit in hits:
            number, offset = hit.order
            if hit.rule.level == "likely" and hit.count == 1 and is_source(self._ends[number], offset):
                continue  # the words stand in the program, not in a message
            evidence = self._attributed(hit.evidence, {"rank": named.get(hit.order, ""), **hit.values})
            ranks = () if evidence.rank is None else (evidence.rank,)
            matches.append(
                RulePlace(
                    hit.rule,
                    evidence,
                    hit.values,
                    number,
                    offset,
                    hit.count,
                    ranks,
                    at_least=hit.at_least,
                    time=evidence.time,
                    matched=self._matched(hit.rule, evidence.text),
                )
            )
        return matches

    def _attributed(self, evidence: Evidence, values: Mapping[str, str]) -> Evidence:
        """Return the evidence with the rank that the message names (e.g.

        a launcher's message), and that rank's host.
        """
        rank, host = evidence.rank, evidence.host
        if (named := values.get("rank") or "").isdecimal() and len(named) < 10:
            rank = int(named)
            host = "" if rank != evidence.rank else host
        first = self._facts.first_failure if self._facts is not None else None
        if rank is None and first is not None and first[1].get("signal") == KILL and _MEMORY.search(evidence.text):
            rank = first[0]  # schedulers report memory by node, not by rank
        host = host or values.get("host") or ""
        if not host and rank is not None and self._facts is not None:
            host = self._facts.host_of.get(rank, "")
        return replace(evidence, rank=rank, host=host)

    def _looked_at(self, match: RulePlace) -> RulePlace:
        """Return the match, updated by the lines around it."""
        if match.rule.level == "benign" or match.evidence is None:
            return match
        around = look_around(self._files[match.file], match.offset, match.evidence)
        tracebacks = self._ends[match.file].tracebacks
        weak = (
            around.went_on
            or is_warning(match.evidence.text, around.level)
            or survived(match.rule, match.evidence, around.level, match.offset, tracebacks)
        )
        if weak and match.count > 1 and self._again(match):
            weak = False
        return replace(match, weak=weak, far=around.far, time=around.time)

    def _matched(self, rule: Rule, text: str) -> int:
        """Return the length of the longest match of a rule's patterns in a line."""
        searches = [self._found_in(text, rule, expression_of(pattern)) for pattern in rule.patterns]
        return max((match.end() - match.start() for match in searches if match), default=0)

    def _found_in(self, text: str, rule: Rule, expression: re.Pattern[str]) -> re.Match[str] | None:
        return self._scanner.limits.within(rule, lambda: expression.search(text), None)

    def _again(self, match: RulePlace) -> bool:
        """Return whether the message appears again at the end and the program did not go on after that."""
        expressions = [expression_of(pattern) for pattern in match.rule.patterns]
        rank = match.evidence.rank if match.evidence is not None else None
        for line in reversed(self._ends[match.file].lines):
            other = line.read.rank is not None and rank is not None and line.read.rank != rank
            if line.offset <= match.offset or other:
                continue
            if any(self._found_in(line.read.text, match.rule, expression) for expression in expressions):
                if is_warning(line.read.text, line.read.level) or match.evidence is None:
                    return False
                return not look_around(self._files[match.file], line.offset, match.evidence).went_on
        return False

    def _from_tracebacks(self, earlier: Sequence[RulePlace]) -> list[RulePlace]:
        """Return matches for the exceptions that ended ranks: of rules that match them, else of the general rule."""
        tracebacks = last_tracebacks(self._ends, self._files)[:TRACEBACKS]
        if not tracebacks:
            return []
        matches: list[RulePlace] = []
        with tempfile.TemporaryDirectory(prefix="hackathon-") as folder:
            pieces = []
            for number, traceback in enumerate(tracebacks):
                piece = Path(folder) / f"{number}.txt"
                piece.write_text(
                    "\n".join(line.read.text for line in traceback.lines) + "\n", encoding="utf-8", errors="replace"
                )
                file = self._files[traceback.file]
                pieces.append(LogFile(piece, file.name, file.kind, traceback.rank, traceback.host))
            hits = self._scanner.scan(pieces)
        self._slow |= self._scanner.limits.ended
        named: set[int] = set()
        surmised: set[int] = set()
        for hit in hits:
            if hit.rule.level == "benign":
                continue
            number = hit.order[0]
            traceback = tracebacks[number]
            line = (
                traceback.lines[(hit.evidence.line or 1) - 1]
                if (hit.evidence.line or 1) <= len(traceback.lines)
                else traceback.lines[-1]
            )
            before = line.offset < traceback.at and not self._matched(hit.rule, traceback.exception)
            if before and hit.rule.level != "root":
                continue  # the words are in a source line of the stack, not in the exception
            (surmised if hit.rule.level == "likely" else named).add(number)
            matches.append(self._of_traceback(traceback, hit.rule, line.offset, hit.evidence.text, hit.values))
        causes = [rule for rule in self._exceptions if rule.patterns and rule.level == "root"]
        for number, traceback in enumerate(tracebacks):
            if number in named or traceback.name in _NO_CAUSE:
                continue
            levels = {
                match.rule.level
                for match in earlier
                if match.file == traceback.file and traceback.at <= match.offset <= traceback.end
            } - {"benign"}
            if levels - {"likely"}:
                continue
            # beside a rule that only surmises, a kind counts that names the cause
            kind = exception_kind(causes if number in surmised or levels else self._exceptions, traceback)
            if kind is None:
                continue
            rule, values = kind
            match = self._of_traceback(traceback, rule, traceback.at, traceback.exception, values)
            far = traceback.name in _FOLLOWING or _gave_up_before(traceback, earlier)
            matches.append(replace(match, far=far, exception=False))
        return matches

    def _with_ranks(self, matches: Sequence[RulePlace]) -> list[RulePlace]:
        """Return the matches; those without a rank get the one that a launcher or a library names.

        An exception that ended a rank stays an error, whatever other ranks print after it.
        """
        if self._facts is not None or not (self._exits.processes or self._exits.first is not None):
            return list(matches)
        tracebacks = [place for place in last_tracebacks(self._ends, self._files) if place.name not in _NO_CAUSE]
        explained = labelled_ranks(tracebacks)
        # of several exceptions without a label the last ones ended ranks
        unlabelled = sorted({(place.file, place.at) for place in tracebacks if place.rank is None})
        status = sum(end.code == 1 and end.rank not in explained for end in self._exits.failed)
        final = set(unlabelled[-status:]) if status else set(unlabelled) if not self._exits.ranks else set()
        shared = _of_all(tracebacks, len(self._exits.failed))
        changed = []
        for match in matches:
            evidence = match.evidence
            if evidence is None or match.rule.level not in ("root", "likely") or match.rule.part == "scheduler":
                changed.append(match)
                continue
            # a rank that waited for others in vain is not at fault
            if evidence.rank is not None or (match.rule.part, match.rule.level) == ("rendezvous", "likely"):
                changed.append(match)
                continue
            inside = [
                (trace.file, trace.at)
                for trace in tracebacks
                if trace.rank is None and trace.file == match.file and trace.begin <= match.offset <= trace.end
            ]
            if inside and (inside[0] not in final or inside[0] in shared):
                changed.append(match)
                continue
            rank = self._exits.culprit(evidence, exception=bool(inside), explained=explained if inside else frozenset())
            if rank is not None:
                match = replace(match, evidence=replace(evidence, rank=rank), ranks=(rank,))
                if inside and rank in self._exits.ranks:
                    match = replace(match, weak=is_warning(evidence.text), far=False)
            changed.append(match)
        return changed

    def _of_traceback(
        self, traceback: Traceback, rule: Rule, offset: int, text: str, values: dict[str, str]
    ) -> RulePlace:
        file = self._files[traceback.file]
        evidence = Evidence(file.name, None, text[:500], traceback.rank, traceback.host, traceback.time)
        evidence = self._attributed(evidence, values)
        ranks = () if evidence.rank is None else (evidence.rank,)
        own = replace(evidence, rank=traceback.rank)
        went_on = look_around(file, max(traceback.end - 1, traceback.at), own).went_on
        return RulePlace(
            rule,
            evidence,
            values,
            traceback.file,
            offset,
            1,
            ranks,
            exception=not went_on,
            own_line=traceback.place,
            weak=went_on,
            time=traceback.time,
            matched=self._matched(rule, text),
        )

    def _from_tables(self) -> list[RulePlace]:
        rule = self._by_fact.get("log:gpu-zero")
        if rule is None or (found := on_gpu_zero(self._ends)) is None:
            return []
        number, line, processes = found
        evidence = Evidence(self._files[number].name, None, line.read.text.strip()[:500])
        return [RulePlace(rule, evidence, {"count": str(processes)}, number, line.offset)]

    def _from_members(self) -> list[RulePlace]:
        rule, waiting = self._by_fact.get("log:members"), members(self._ends)
        if rule is None or waiting is None:
            return []
        number, line, count, total = waiting
        values = {"count": str(count), "total": str(total)}
        return [RulePlace(rule, self._of_event(number, line), values, number, line.offset)]

    def _from_structure(self, matches: Sequence[RulePlace]) -> list[RulePlace]:
        """Return a match for what happened first, when no rule knows a cause: from the form of the logs alone."""
        followers = [
            match for match in matches if match.rule.level == "secondary" and not match.weak and match.file >= 0
        ]
        tracebacks = [place for place in last_tracebacks(self._ends, self._files) if place.name not in _NO_CAUSE]
        labelled = labelled_ranks(tracebacks)
        lost = frozenset(rank for match in followers if match.rule.part in LIBRARIES for rank in match.ranks)
        left = (
            self._exits.left
            or left_among(labelled, self._exits)
            or left_before(self._exits, labelled, lost, self._ends)
        )
        rule = self._by_fact.get("log:left-early")
        if rule is not None and left and followers:
            first = min(followers, key=lambda match: (match.file, match.offset))
            evidence = replace(first.evidence or Evidence("", None, ""), rank=left[0], host="")
            values = {"missing": ", ".join(str(rank) for rank in left)}
            return [replace(first, rule=rule, evidence=evidence, values=values, ranks=left, weak=False)]
        rule = self._by_fact.get(FIRST_EVENT)
        first_rank = self._exits.first
        of_one_rank = [
            number
            for number, file in enumerate(self._files)
            if file.rank is not None and first_rank in (None, file.rank)
        ]
        before = [(match.file, match.offset) for match in followers]
        events = events_of(self._ends, before, of_one_rank, _harmless(matches))
        lasting = next(filter(self._lasting, events[:LOOKED_AT]), None)
        if not events and (ended := self._from_exit(tracebacks)):
            return ended
        if rule is None or (event := lasting or failed_command(self._ends)) is None:
            return []
        number, line = event
        evidence = self._of_event(number, line)
        text, ranks = evidence.text, () if evidence.rank is None else (evidence.rank,)
        values = {"what": text[:LETTERS]}
        if _EXCEPTION.match(text):
            # an exception without its stack, as pip and Hydra print it
            values |= {"exception": text[:LETTERS], "place": NOT_KNOWN, "statement": "", "package": ""}
            if (found := kind_of_words([other for other in self._exceptions if other.patterns], values)) is not None:
                rule, values = found
        else:
            rule = next((other for other in self._rules if other.fact == FIRST_EVENT and _is_in(other, text)), rule)
        return self._with_ranks([RulePlace(rule, evidence, values, number, line.offset, 1, ranks)])

    def _of_event(self, number: int, line: TailLine) -> Evidence:
        file, read = self._files[number], line.read
        rank = read.rank if read.rank is not None else file.rank
        return Evidence(file.name, None, read.text.strip()[:500], rank, read.host or file.host, read.time, read.pid)

    def _lasting(self, event: tuple[int, TailLine]) -> bool:
        """Return whether the program did not go on after an event."""
        number, line = event
        evidence = self._of_event(number, line)
        return not (
            look_around(self._files[number], line.offset, evidence).went_on
            or is_warning(evidence.text, line.read.level)
        )

    def _from_exit(self, tracebacks: Sequence[Traceback]) -> list[RulePlace]:
        """Return a match for the rank that ended first, killed or with an exit code, and without output."""
        labelled = labelled_ranks(tracebacks)
        rule, killed = self._by_fact.get("log:killed"), first_killed(self._ends)
        if rule is not None and killed is not None and killed[2] not in labelled:
            number, line, rank = killed
            text, host = line.read.text.strip()[:500], line.read.host or self._files[number].host
            evidence = Evidence(self._files[number].name, None, text, rank, host, line.read.time)
            return [RulePlace(rule, evidence, {"rank": str(rank)}, number, line.offset, 1, (rank,))]
        rule, end = self._by_fact.get("log:exited"), first_exit(self._ends, self._exits)
        if rule is None or end is None:
            return []
        number, line, rank, code = end
        if rank in labelled:
            return []
        evidence = Evidence(self._files[number].name, None, line.read.text.strip()[:500], rank, time=line.read.time)
        values = {"rank": str(rank), "code": str(code)}
        return [RulePlace(rule, evidence, values, number, line.offset, 1, (rank,))]

    def _from_facts(self) -> list[RulePlace]:
        if self._facts is None:
            return []
        matches = []
        for rule in self._rules:
            check = find_check(rule.fact) if rule.fact else None
            if check is None:
                continue
            matches += [_of_fact(rule, hit) for hit in check(self._facts, rule.thresholds)]
        return matches

    def _circumstances(self, matches: Sequence[RulePlace]) -> Circumstances:
        facts = self._facts
        if facts is None or facts.status is None:
            return Circumstances(
                failed=not finished(self._ends),
                first_rank=self._exits.first,
                by_itself=any(match.rule.fact.startswith(EXCEPTION) and not match.weak for match in matches),
            )
        status, first = facts.status, facts.first_failure
        failed = status.state not in (states.SUCCEEDED, states.CREATED)
        outside = status.state in (states.TIMEOUT, states.CANCELLED)
        signalled = [
            float(event["t"])
            for listed in facts.rank_events.values()
            for event in listed
            if event.get("event") == "told" and event.get("t")
        ]
        ended = min(signalled, default=status.t_ended) if outside else None
        by_itself = first is not None and bool(first[1].get("exit_code")) and facts.failed_by_itself
        # a rank that raised an exception can also go on waiting, until the job is stopped
        raised = outside and any(
            (match.exception or match.rule.fact.startswith(EXCEPTION))
            and match.rule.level in ("root", "likely")
            and not (match.weak or match.far)
            and not (match.evidence is not None and _OF_OTHERS.search(match.evidence.text))
            and (match.time is None or ended is None or match.time < ended)
            for match in matches
        )
        rank = first[0] if first is not None else status.first_rank
        killed = killed_ranks(facts) if by_itself and not outside else {}
        put_down = frozenset(rank for rank, signalled in killed.items() if signalled)
        only = len(put_down) == len(killed)
        return Circumstances(failed, failed and not status.open, rank, ended, by_itself or raised, put_down, only)


def _of_all(tracebacks: Sequence[Traceback], failed: int) -> set[tuple[int, int]]:
    """Return (file, offset) of exceptions without a label that all failed ranks raised: no rank is at fault."""
    same = Counter(traceback.exception for traceback in tracebacks if traceback.rank is None)
    return {
        (traceback.file, traceback.at)
        for traceback in tracebacks
        if traceback.rank is None and failed > 1 and same[traceback.exception] >= failed
    }


def _merged(file: LogFile, end: End) -> LogFile:
    """Return the file; without the rank that its name suggests when its lines are labelled as several ranks'."""
    if file.kind != "other" or file.rank is None:
        return file
    labels = {line.read.rank for line in end.lines if line.read.rank is not None}
    return replace(file, rank=None) if len(labels) > 1 else file


def _gave_up_before(traceback: Traceback, matches: Sequence[RulePlace]) -> bool:
    """Return whether a rank had given up waiting for the others before it raised an exception.

    If so, the exception cannot be why the others wait. Matches count whose rules name an exception as a cause. Where
    ranks cannot be told apart, everything earlier in the same file counts.
    """
    return any(
        match.file == traceback.file
        and match.offset < traceback.at
        and not match.weak
        and ANY_EXCEPTION in match.rule.follows
        and (match.rank is None or traceback.rank is None or match.rank == traceback.rank)
        and match.evidence is not None
        and bool(_GAVE_UP.search(match.evidence.text))
        for match in matches
    )


def _harmless(matches: Sequence[RulePlace]) -> list[re.Pattern[str]]:
    """Return the patterns of the rules for harmless messages that match."""
    rules = {match.rule.id: match.rule for match in matches if match.rule.level == "benign"}
    return [expression_of(pattern) for rule in rules.values() for pattern in rule.patterns]


def _is_in(rule: Rule, text: str) -> bool:
    return any(expression_of(pattern).search(text) for pattern in rule.patterns)


def _of_fact(rule: Rule, hit: FactHit) -> RulePlace:
    time = hit.evidence.time if hit.evidence is not None else None
    return RulePlace(rule, hit.evidence, hit.values, count=hit.count, ranks=hit.ranks, fact=True, time=time)
