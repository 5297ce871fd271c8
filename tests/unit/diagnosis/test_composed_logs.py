"""Logs composed of one cause and what others say because of it: the cause is named, wherever it stands.

The causes were written down from real failures of many versions before any rule was tried on them
(tests/samples/failures/unseen.txt); the followers likewise. A cause that is not named is a rule that is too narrow, a
follower that is named is one that is too bold.
"""

import re
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from hackathon.config.load import load_rules
from hackathon.config.rule import Part
from hackathon.diagnosis import diagnose
from hackathon.diagnosis.scan import RuleSet
from support.paths import SAMPLES

LOADED, PROBLEMS = load_rules()
RULES = RuleSet(LOADED)


class Cause(NamedTuple):
    name: str
    parts: list[str]
    key: str
    """Regular expression that the evidence matches."""
    text: str


def sections(name: str) -> list[tuple[str, str]]:
    """Return (heading, text) of each section of a sample file."""
    found = []
    for block in re.split(r"^%%% ", (SAMPLES / "failures" / name).read_text(), flags=re.M)[1:]:
        heading, _, text = block.partition("\n")
        found.append((heading, text.rstrip("\n") + "\n"))
    return found


def causes() -> list[Cause]:
    found = []
    for heading, text in sections("unseen.txt"):
        name, parts, key = (part.strip() for part in heading.split(" | ", 2))
        found.append(Cause(name, parts.split(), key, text))
    return found


FOLLOWERS = dict(sections("followers.txt"))
STACKS = {
    "torch": ("torch-nccl", "torch-nccl-debug", "store", "torchrun"),
    "gloo": ("torch-gloo", "torch-gloo-reset", "store", "srun"),
    "horovod": ("horovod", "horovod-gloo", "horovod", "mpirun"),
    "mpi": ("horovod", "mpi-abort", "mpirun", "srun"),
    "tensorflow": ("grpc", "grpc", "grpc", "srun"),
}
"""Three other ranks and the launcher."""
MISSING = {"horovod-stall", "monitored", "gloo-monitored-2", "hvd-stall-old"}
"""Where the rank that did not come is named, not the one that says so."""
BEFORE = "epoch 1 step 100 loss 2.31 612.4 samples/s\nepoch 1 step 200 loss 1.97 618.8 samples/s\n"


def stacks_of(cause: Cause) -> list[str]:
    if {"horovod"} & set(cause.parts):
        return ["horovod"]
    if {"tensorflow"} & set(cause.parts):
        return ["tensorflow"]
    if {"mpi", "chainermn"} & set(cause.parts):
        return ["mpi"]
    if {"gloo"} & set(cause.parts):
        return ["gloo"]
    if {"cuda", "nccl", "gpu", "rendezvous"} & set(cause.parts):
        return ["torch"]
    return ["torch", "gloo", "horovod", "mpi"]


CASES = [
    pytest.param(cause, stack, place, id=f"{cause.name}-{stack}-{('before', 'between', 'after')[place]}")
    for number, cause in enumerate(causes())
    for place in range(3)
    for stack in [stacks_of(cause)[(number + place) % len(stacks_of(cause))]]
]


def named(findings: list, cause: Cause, rank: int | None) -> None:
    assert findings, f"nothing was recognised in\n{cause.text}"
    first = findings[0]
    told = f"{first.rule} ({first.level}): {first.evidence}"
    assert first.part in cause.parts, told
    assert first.level in ("root", "likely"), told
    assert re.search(cause.key, first.evidence.text, re.I) or cause.key in first.message, told
    if rank is not None and cause.name not in MISSING:
        assert first.evidence.rank == rank, told
    assert sum(finding.level == "root" for finding in findings) <= 1


def test_there_are_enough_compositions() -> None:
    assert not PROBLEMS
    assert len(RULES) >= 60 and {rule.part for rule in RULES} == set(get_args(Part))
    assert len(CASES) >= 300


@pytest.mark.parametrize(("cause", "stack", "place"), CASES[::2])
def test_a_log_for_each_rank(cause: Cause, stack: str, place: int, tmp_path: Path) -> None:
    others = list(STACKS[stack])
    launcher = FOLLOWERS[others.pop()]
    rank = (0, 2, 3)[place]
    paths = []
    for number in range(4):
        path = tmp_path / f"rank-{number}.log"
        path.write_text(BEFORE + (cause.text if number == rank else FOLLOWERS[others.pop()]))
        paths.append(path)
    job = tmp_path / "job.log"
    job.write_text(launcher)
    named(diagnose([job, *paths], rules=RULES), cause, rank)


@pytest.mark.parametrize(("cause", "stack", "place"), CASES[1::2])
def test_one_log_of_all_ranks(cause: Cause, stack: str, place: int, tmp_path: Path) -> None:
    prefix = {"torch": "[rank{}]: ", "gloo": "{}: ", "tensorflow": "{}: "}.get(stack, "[1,{}]<stderr>:")
    rank = 2
    blocks = [(number, FOLLOWERS[name]) for number, name in zip((0, 1, 3), STACKS[stack][:3], strict=True)]
    blocks.insert((0, 1, 3)[place], (rank, cause.text))
    lines = [prefix.format(number) + line + "\n" for number, text in blocks for line in (BEFORE + text).splitlines()]
    path = tmp_path / "slurm-118230.out"
    path.write_text("".join(lines) + FOLLOWERS[STACKS[stack][3]])
    named(diagnose([path], rules=RULES), cause, None if prefix == "{}: " else rank)


@pytest.mark.parametrize("stack", sorted(STACKS))
def test_followers_alone_are_not_taken_for_the_cause(stack: str, tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_text(BEFORE + "".join(FOLLOWERS[name] for name in STACKS[stack]))
    for finding in diagnose([path], rules=RULES):
        assert finding.level in ("secondary", "benign"), finding


CLEAN = sorted((SAMPLES / "clean").glob("*.log"))


def test_there_are_enough_healthy_logs() -> None:
    assert len(CLEAN) >= 20


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_a_healthy_log_gives_nothing_above_benign(path: Path) -> None:
    assert [finding for finding in diagnose([path], rules=RULES) if finding.level != "benign"] == []
