"""Any request, written for one scheduler and converted for another, is the same request, or its losses are named."""

from dataclasses import fields

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as some

from hackathon.programs.scripts.conversion import convert, target_language
from hackathon.programs.scripts.lint import looked_at
from hackathon.programs.scripts.source import script_text
from hackathon.schedulers import registry
from hackathon.schedulers.scripts import ScriptLanguage, ScriptRequest

PAIRS = [(source, target) for source in registry.SCRIPTS for target in registry.SCRIPTS]
NAMES = some.from_regex(r"[a-z][a-z0-9]{0,7}", fullmatch=True)
RANGES = some.tuples(some.integers(0, 3), some.integers(4, 20), some.sampled_from(["", ":2"]))


def perhaps(values: some.SearchStrategy[object]) -> some.SearchStrategy[object]:
    return some.none() | values


REQUESTS = some.builds(
    ScriptRequest,
    name=perhaps(some.sampled_from(["train", "my job", "a/b", "1x"])),
    queue=perhaps(NAMES),
    account=perhaps(NAMES),
    nodes=perhaps(some.integers(1, 9)),
    processes_per_node=perhaps(some.integers(1, 8)),
    processes=perhaps(some.integers(1, 40)),
    threads=perhaps(some.integers(1, 16)),
    cores=perhaps(some.integers(1, 64)),
    gpus=perhaps(some.integers(1, 8)),
    gpu_type=perhaps(some.sampled_from(["a100", "h100"])),
    gpus_per_process=perhaps(some.just(1)),
    memory=perhaps(some.sampled_from(["64G", "512M", "100gb"])),
    memory_per_core=perhaps(some.just("4G")),
    walltime=perhaps(some.integers(60, 400000)),
    output=perhaps(some.sampled_from(["a.out", "%x-%j.out", "logs/%A_%a.out"])),
    error=perhaps(some.sampled_from(["a.err", "e-%j.err"])),
    merge=perhaps(some.booleans()),
    array=perhaps(RANGES.map(lambda parts: f"{parts[0]}-{parts[1]}{parts[2]}")),
    after_ok=perhaps(some.just("12")),
    after_any=perhaps(some.just("13:14")),
    mail_user=perhaps(some.just("a@example.org")),
    mail_on=perhaps(some.frozensets(some.sampled_from(["begin", "end", "fail"]))),
    directory=perhaps(some.sampled_from([".", "/data/x"])),
    rerun=perhaps(some.booleans()),
    placement=perhaps(some.sampled_from(["scatter", "pack"])),
    exclusive=perhaps(some.just(True)),
    variables=perhaps(some.sampled_from(["A=1", "A=1,B=x y", "C"])),
    inherit=perhaps(some.booleans()),
)


def language(name: str) -> ScriptLanguage:
    return target_language(name, None)


def header(options: list[str], prefix: str) -> bytes:
    lines = "".join(f"{prefix} {option}\n" for option in options)
    return f"#!/bin/bash\n{lines}echo body\n".encode()


SAME = ("name", "queue", "account", "gpu_type", "memory_per_core", "gpus_per_process", "walltime", "output", "error",
        "array", "after_ok", "after_any", "mail_user", "variables", "nodes")  # fmt: skip


def differences(before: ScriptRequest, after: ScriptRequest) -> set[str]:
    """Return the fields of which the new request has less than the old one, by the meaning of each field."""
    gone = {name for name in SAME if getattr(before, name) not in (None, getattr(after, name))}
    ranks, new_ranks = before.per_node() or 1, after.per_node() or 1
    if before.nodes == 1:
        gone -= {"nodes"}
    if before.merge:
        gone -= {"error"}
    # one process per node is what nodes without a number of processes have
    same_ranks = before.total() in (None, 1, after.total()) or before.total() == after.nodes
    if not same_ranks or (before.total() is None and before.per_node() not in (None, 1, after.per_node())):
        gone.add("processes")
    cores = max(after.cores or 0, (after.threads or 1) * new_ranks)
    if (before.threads or 1) > 1 and before.threads != after.threads and (before.threads or 1) * ranks > cores:
        gone.add("threads")
    if (before.cores or 1) > cores:
        gone.add("cores")
    if (before.gpus or 0) > (after.gpus or 0):
        gone.add("gpus")
    if before.memory and not after.memory:
        gone.add("memory")
    if before.mail_on and before.mail_on != after.mail_on:
        gone.add("mail_on")
    if before.placement == "pack" != after.placement:
        gone.add("placement")
    if before.exclusive and not after.exclusive:
        gone.add("exclusive")
    if before.rerun is not None and before.rerun != after.rerun:
        gone.add("rerun")
    return gone


@pytest.mark.parametrize(("source", "target"), PAIRS)
@settings(max_examples=8, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
@given(request_of=REQUESTS)
def test_a_converted_request_is_the_same_or_its_losses_are_named(
    source: str, target: str, request_of: ScriptRequest
) -> None:
    options, _ = language(source).write(request_of, {})
    text = header(options, language(source).prefix)
    look = looked_at(script_text(text, "job.sh"), source)
    if look is None or not look.directives or (source in ("pbs", "nqsv") and detected(text) != source):
        return  # nothing in it, or nothing that distinguishes PBS and NQSV
    made = convert(script_text(text, "job.sh"), None, language(target))
    new = looked_at(made.script, target)
    after = new.request if new else ScriptRequest()
    lines = {loss.line for loss in made.not_translated}
    named = {change.field for change in made.changed}
    for entry in differences(look.request, after):
        names = {entry, "processes_per_node"} if entry == "processes" else {entry}
        owners = [setting.line for setting in look.settings if names & decided(look.language, setting, look.settings)]
        allowed = {"cores", "exclusive"} if target == "pjm" and after.nodes else set()
        assert entry in named | allowed or set(owners) & lines, (entry, text.decode(), made.script.text())
    for directive in look.directives:  # nothing that was not understood disappears
        if not all(setting in look.request.taken for setting in directive.settings) and source != target:
            assert directive.line in lines


def detected(text: bytes) -> str | None:
    look = looked_at(script_text(text, "job.sh"))
    return look.language.name if look else None


def decided(of: ScriptLanguage, setting: object, part: list) -> set[str]:  # type: ignore[type-arg]
    """Return the fields that a setting decides, alone or with others."""
    alone, without = of.read([setting]), of.read([other for other in part if other is not setting])  # type: ignore[list-item]
    pairs = ((alone, ScriptRequest()), (of.read(part), without))
    return {entry.name for entry in fields(ScriptRequest)
            for one, other in pairs if getattr(one, entry.name) != getattr(other, entry.name)}  # fmt: skip
