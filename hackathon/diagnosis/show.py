"""Print a diagnosis to a terminal: consequences first, the cause last, next to the prompt."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hackathon.config.rule import tells_failures_apart
from hackathon.diagnosis.findings import LIKELY, UNKNOWN
from hackathon.text.messages import N_, _, ngettext

if TYPE_CHECKING:
    from hackathon.diagnosis.examine import Diagnosis
    from hackathon.diagnosis.findings import Evidence, Finding

_PART_TEXTS = {
    "gpu": N_("GPU"),
    "cuda": N_("CUDA"),
    "nccl": N_("NCCL"),
    "rendezvous": N_("rendezvous (how the ranks find each other)"),
    "gloo": N_("gloo"),
    "mpi": N_("MPI"),
    "horovod": N_("Horovod"),
    "chainermn": N_("ChainerMN"),
    "tensorflow": N_("TensorFlow"),
    "framework": N_("framework or program"),
    "data": N_("data"),
    "numerics": N_("numerics"),
    "filesystem": N_("file system"),
    "hardware": N_("hardware"),
    "env": N_("environment"),
    "scheduler": N_("scheduler"),
    "silent": N_("silent failure"),
}

_DIAGNOSIS_TEXTS = {
    "likely": N_("Possibly related: {part}"),
    "secondary": N_("Follow-on error: {part}"),
}

_FOR_A_TUTOR = N_("For a tutor: hackathon diagnose {target!q} --bundle FILE.tar.gz")

SHOWN = 4
"""Findings printed besides the cause."""
REFERENCES = 2
"""Addresses printed per finding."""


def lines_of(diagnosis: "Diagnosis", target: str, settings: str = "") -> Iterator[tuple[str, bool]]:
    """Yield (line, whether it is a heading) of a diagnosis.

    `target`: the user's name for it. `settings`: what its study varies.
    """
    if diagnosis.run:
        # without a cause, the first rank to fail and its exit code matter
        why = diagnosis.status.explanation if diagnosis.status and diagnosis.unknown and not diagnosis.root else ""
        parts = [diagnosis.run, f"[{settings}]" if settings else "", diagnosis.state, why]
        yield "  ".join(part for part in parts if part), True
    if diagnosis.slow:
        rules = ", ".join(sorted(diagnosis.slow))
        yield (
            ngettext(
                "{count} rule was not applied to all lines, because that would take too long: {rules}",
                "{count} rules were not applied to all lines, because that would take too long: {rules}",
                len(diagnosis.slow),
                count=len(diagnosis.slow),
                rules=rules,
            ),
            False,
        )
    for finding in diagnosis.harmless if not diagnosis.findings else ():
        yield _("Harmless warning: {text}", text=finding.message), False
    root = diagnosis.root
    if root is None and diagnosis.findings and not tells_failures_apart(diagnosis.findings[0].rule):
        root = diagnosis.findings[0]
    findings = [finding for finding in diagnosis.findings if finding is not root]
    for finding in reversed(findings[:SHOWN]):
        at = f" ({place_of(finding)})" if finding.evidence is not None else ""
        yield f"{_(_DIAGNOSIS_TEXTS[finding.level], part=part_name(finding.part))}: {finding.message}{at}", False
    if root is not None:
        if diagnosis.unknown:
            yield _("The rarest lines before it:"), False
            yield from _unknown_lines(diagnosis)
        yield from cause_lines(root)
        if diagnosis.unknown:
            yield _(_FOR_A_TUTOR, target=target), False
        return
    if diagnosis.findings and not any(finding.level == "likely" for finding in diagnosis.findings):
        yield _("These errors follow from a failure elsewhere; the first failure is not in these logs."), False
    if not diagnosis.findings and not diagnosis.unknown:
        yield _("No known failure was found."), False
    elif not diagnosis.findings and diagnosis.status is None:
        yield _("No known failure was found. If it failed, read these lines first:"), False
    elif not diagnosis.findings:
        yield _("This failure is not known. The rarest lines before it:"), False
    yield from _unknown_lines(diagnosis)
    if diagnosis.unknown:
        yield _(_FOR_A_TUTOR, target=target), False


def _unknown_lines(diagnosis: "Diagnosis") -> Iterator[tuple[str, bool]]:
    for line in diagnosis.unknown:
        yield f"  {place(line)}", False
        yield f"    {line.text}", False


def cause_lines(root: "Finding") -> Iterator[tuple[str, bool]]:
    """Yield (line, whether it is a heading) of the cause: part, location, reason, advice, checks."""
    if root.certainty == UNKNOWN:
        yield _("Cause not known; this happened first: {event}", event=root.message), True
    elif root.certainty == LIKELY:
        yield f"{_('Probable cause: {part}', part=part_name(root.part))}: {root.message}", True
    else:
        yield f"{_('Cause: {part}', part=part_name(root.part))}: {root.message}", True
    if root.evidence is not None:
        yield f"  {_('where')}: {place_of(root)}", False
        if root.evidence.text:
            yield f"    {root.evidence.text}", False
    if root.program and root.program not in root.message:
        yield f"  {_('in your program')}: {root.program}", False
    for number, (text, check) in enumerate(root.causes):
        why = _("perhaps") if root.certainty == UNKNOWN else _("why")
        yield f"  {why}: {text}" if number == 0 else f"    {text}", False
        if check:
            yield f"      {_('check')}: {check}", False
    if root.advice:
        yield f"  {_('fix')}: {root.advice}", False
    for address in root.references[:REFERENCES]:
        yield f"  {_('read on')}: {address}", False


def place_of(finding: "Finding") -> str:
    """Return where a finding shows; empty without evidence."""
    if finding.evidence is None:
        return ""
    return place(finding.evidence, finding.ranks, finding.count, at_least=finding.at_least)


def place(evidence: "Evidence", ranks: Sequence[int] = (), count: int = 1, *, at_least: bool = False) -> str:
    """Return `file:line, rank 1, host`, with the other ranks and the number of occurrences."""
    parts = [evidence.file if evidence.line is None else f"{evidence.file}:{evidence.line}"]
    if len(ranks) > 1:
        parts.append(_("ranks {ranks}", ranks=_ranges(ranks)))
    elif evidence.rank is not None:
        parts.append(_("rank {rank}", rank=evidence.rank))
    if evidence.host:
        parts.append(evidence.host)
    if count > 1:
        parts.append(_("at least {count} times", count=count) if at_least else _("{count} times", count=count))
    return ", ".join(parts)


def part_name(part: str) -> str:
    """Return the display name of a part; an unknown part is returned unchanged."""
    try:
        return _(_PART_TEXTS[part])
    except KeyError:
        return part


def cause_sentence(part: str, rule: str, text: str, ended: str, program: str = "") -> str:
    """Return a cause with its part, then how the run `ended`; only the latter if the cause says the same."""
    if rule.startswith("job-"):
        return ended
    about = "; ".join(clause for clause in (program if program not in text else "", ended) if clause)
    return f"{part_name(part)}: {text}" + (f" ({about})" if about else "")


def _ranges(ranks: Sequence[int]) -> str:
    """Return ranks as `0-3, 5`."""
    spans: list[list[int]] = []
    for rank in sorted(ranks):
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
