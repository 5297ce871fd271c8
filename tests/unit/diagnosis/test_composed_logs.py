"""Logs composed of one cause and what others say because of it: the cause is named, wherever it stands.

The causes were written down from real failures of many versions before any rule was tried on them
(tests/samples/failures/unseen.txt); the followers likewise. A cause that is not named is a rule that is too narrow, a
follower that is named is one that is too bold.
"""

import re
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from hackathon.config.rule import Part
from hackathon.config.rule_files import load_rules
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
    for place in [number % 3]
    for stack in [stacks_of(cause)[(number + place) % len(stacks_of(cause))]]
]
"""One log for each cause; three causes in a row stand at each of the places, then the next three in the other form."""


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


@pytest.mark.parametrize(("cause", "stack", "place"), [case for number, case in enumerate(CASES) if number % 6 < 3])
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


@pytest.mark.parametrize(("cause", "stack", "place"), [case for number, case in enumerate(CASES) if number % 6 >= 3])
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


def raised(exception: str) -> str:
    return (
        f'Traceback (most recent call last):\n  File "/home/t/train.py", line 12, in <module>\n    main()\n{exception}'
    )


FAILED = raised("ValueError: the record of 'a' went astray")
COMPONENT = """A requested component was not found, or was unable to be opened.  This
means that this component is either not installed or is unable to be
used on your system (e.g., sometimes this means that shared libraries
that the component requires are unable to be found/loaded).  Note that
{library} stopped checking at the first component that it did not find.

Host:      c001
Framework: {framework}
Component: {component}
"""
PSEC = COMPONENT.format(library="PMIx", framework="psec", component="munge")
NO_PML = COMPONENT.format(library="Open MPI", framework="pml", component="yalla")
PMIX_INIT = "It looks like pmix_init failed for some reason; your parallel process is\nlikely to abort."
AT_EXIT = "terminate called without an active exception"
WATCHDOG = (
    "[rank0]:[E1121 10:30:00.000000 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout:"
    " WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=1) ran for 600020 milliseconds before"
    " timing out."
)
GLOO = raised(
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for"
    " recv operation to complete"
)
LOST = raised("BrokenPipeError: [Errno 32] Broken pipe")
CQ = "MPIDI_OFI_handle_cq_error(1042): OFI poll failed (ofi_events.c:1042:MPIDI_OFI_handle_cq_error:{})"
UCX = "[1668693503.473099] [n1:1188:0]  ib_mlx5.c:246  UCX  ERROR {}"
TYPES = "RuntimeError: Input type ({}) and {} type ({}) should be the same"
FLAT = "ValueError: Must flatten tensors with uniform {}"


@pytest.mark.parametrize(
    ("named", "ranks"),
    [
        # who waited is not the cause when another rank failed, whatever it says
        ("python-exception", [WATCHDOG, FAILED]),
        ("python-exception", [GLOO, FAILED]),
        ("nccl-watchdog-timeout", [WATCHDOG, LOST]),
        ("nccl-watchdog-timeout", [f"{WATCHDOG}\n{FAILED}", BEFORE]),
        ("gloo-timeout", [GLOO, LOST]),
        (
            "gloo-timeout",
            [f"{GLOO}\n\nDuring handling of the above exception, another exception occurred:\n\n{FAILED}"],
        ),
        # what was trained is whole only when nothing failed
        ("python-exception", [f"{BEFORE}{FAILED}\n{AT_EXIT}"]),
        ("gloo-timeout", [f"{BEFORE}{GLOO}\n{AT_EXIT}"]),
        (
            "gloo-connect-failed",
            [raised(f"RuntimeError: Gloo connectFullMesh failed with [pair.cc:14] no error\n{AT_EXIT}")],
        ),
        ("gloo-thread-at-exit", [f"{BEFORE}done\n{AT_EXIT}"]),
        # FSDP's complaints: of what is frozen, and of types
        ("framework-fsdp-partly-frozen", [raised(FLAT.format("`requires_grad` when `use_orig_params=False`"))]),
        ("framework-fsdp-partly-frozen", [raised("ValueError: `FlatParameter` requires uniform `requires_grad`")]),
        ("fsdp-mixed-parameters", [raised(FLAT.format("dtype but got torch.bfloat16 and torch.float32"))]),
        ("fsdp-mixed-parameters", [raised("ValueError: `FlatParameter` requires uniform dtype but got x and y")]),
        # types or devices
        (
            "framework-dtype-mismatch",
            [raised(TYPES.format("torch.cuda.FloatTensor", "weight", "torch.cuda.HalfTensor"))],
        ),
        ("framework-dtype-mismatch", [raised(TYPES.format("torch.DoubleTensor", "weight", "torch.FloatTensor"))]),
        ("framework-dtype-mismatch", [raised(TYPES.format("float", "bias", "c10::Half"))]),
        ("framework-dtype-mismatch", [raised(TYPES.format("double", "bias", "float"))]),
        ("gpu-tensors-apart", [raised(TYPES.format("torch.FloatTensor", "weight", "torch.cuda.FloatTensor"))]),
        ("gpu-tensors-apart", [raised(TYPES.format("torch.cuda.HalfTensor", "weight", "torch.FloatTensor"))]),
        ("gpu-tensors-apart", [raised(TYPES.format("MPSFloatType", "weight", "torch.FloatTensor"))]),
        # a transfer that failed, a network that cannot be opened, a file system
        ("mpi-network-retries", [CQ.format("Input/output error")]),
        ("mpi-network-retries", [UCX.format("Endpoint: Input/output error")]),
        ("python-exception", [CQ.format("Input/output error"), FAILED]),
        ("mpi-fabric-unavailable", ["MPIDI_NM_mpi_init_hook(689): OFI addrinfo() failed (ofi_init.h:689:No data)"]),
        ("filesystem-io-error", [f"cp: error writing '/x': Input/output error\n{UCX.format('Endpoint timeout')}"]),
        ("", [CQ.format("Message too long - OK")]),
        # PMIx goes on without an optional component, Open MPI does not
        ("", [PSEC + BEFORE]),
        ("python-exception", [PSEC + BEFORE + FAILED]),
        ("mpi-init-failed", [PSEC + PMIX_INIT]),
        ("mpi-ucx-unusable", [NO_PML]),
        # a kernel that overran its stack, a GPU that is broken
        ("gpu-illegal-access", [raised("RuntimeError: CUDA error: hardware stack error")]),
        ("gpu-hardware-memory", [raised("RuntimeError: CUDA error: uncorrectable ECC error encountered")]),
    ],
)
def test_what_looks_alike_is_told_apart(named: str, ranks: list[str], tmp_path: Path) -> None:
    paths = []
    for number, text in enumerate(ranks):
        paths.append(tmp_path / f"rank-{number}.log")
        paths[-1].write_text(text + "\n")
    first = next(iter(diagnose(paths, rules=RULES)), None)
    assert (first.rule if first is not None and first.level == "root" else "") == named, first


CLEAN = sorted((SAMPLES / "clean").glob("*.log"))


def test_there_are_enough_healthy_logs() -> None:
    assert len(CLEAN) >= 20


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_a_healthy_log_gives_nothing_above_benign(path: Path) -> None:
    assert [finding for finding in diagnose([path], rules=RULES) if finding.level != "benign"] == []
