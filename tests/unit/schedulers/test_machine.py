"""What schedulers say of the machine: queues with their limits, and nodes by their shape."""

from dataclasses import replace
from pathlib import Path

import pytest

from hackathon import schedulers
from hackathon.schedulers import registry
from hackathon.schedulers.base import CommandOutput, SchedulerError
from hackathon.schedulers.comparison import Machine
from hackathon.schedulers.gridengine.commands import GridEngine
from hackathon.schedulers.local.commands import Local
from hackathon.schedulers.pbs.commands import Pbs
from hackathon.schedulers.profile_draft import ProfileAnswers, draft
from hackathon.schedulers.reports import NodeGroup, QueueInfo
from hackathon.schedulers.slurm.commands import Slurm
from support.gridengine_samples import answer

FOLDER = Path(schedulers.__file__).parent
GIB = 2**30


def said(command: str, out: str, code: int = 0) -> CommandOutput:
    return CommandOutput((command,), code, out, "")


def sinfo(*lines: str) -> CommandOutput:
    return said("sinfo", "".join(line.replace("|", "\x1f") + "\n" for line in lines))


def test_recorded_partitions() -> None:
    text = (FOLDER / "slurm/samples/sinfo_queues.txt").read_text()
    assert Slurm().parse_queues(said("sinfo", text)) == [
        QueueInfo("main", nodes=4, walltime=86400, note="0/4/0/4", min_nodes=1, size=4),
        QueueInfo("high", nodes=2, walltime=3600, note="0/4/0/4", min_nodes=1, size=4),
        QueueInfo("short", enabled=False, nodes=4, walltime=60, note="0/4/0/4", min_nodes=1, size=4),
    ]


def test_partition_that_is_down_or_without_limits() -> None:
    (queue,) = Slurm().parse_queues(sinfo("long|down|9|infinite|0/0/1/1|2-16"))
    assert (queue.enabled, queue.walltime, queue.min_nodes, queue.nodes, queue.size) == (False, None, 2, 9, 9)


def test_recorded_nodes_of_three_partitions_count_once() -> None:
    text = (FOLDER / "slurm/samples/sinfo_nodes.txt").read_text()
    expected = NodeGroup(4, ("main", "high", "short"), cpus=4, memory=4000 * 2**20, gpus=2)
    assert Slurm().parse_nodes([said("sinfo", text)]) == [expected]


@pytest.mark.parametrize(
    ("resources", "gpus", "model"),
    [
        ("(null)", 0, ""),
        ("gpu:2", 2, ""),
        ("gpu", 1, ""),
        ("gpu:a100:8(S:0-1)", 8, "a100"),
        ("gpu:a100_1g.5gb:7(S:0,1),gpu:a100:2,nvme:1", 9, ""),
        ("craynetwork:4,gpu:h100:4(S:0,1,2-3)", 4, "h100"),
        ("gpustat:3", 0, ""),
    ],
)
def test_gpus_of_slurm(resources: str, gpus: int, model: str) -> None:
    (group,) = Slurm().parse_nodes([sinfo(f"p|3|72|250000|2|18|2|{resources}")])
    assert (group.gpus, group.gpu, group.cores, group.cpus, group.nodes) == (gpus, model, 36, 72, 3)


def test_memory_and_cores_that_nobody_wrote_down_are_not_known() -> None:
    (group,) = Slurm().parse_nodes([sinfo("p|3|4|1|4|1|1|(null)")])
    assert (group.memory, group.cores, group.cpus) == (None, None, 4)


def test_shapes_are_sorted_by_their_number() -> None:
    lines = ("cpu|2|48|90000|2|24|1|(null)", "gpu|16|72|500000|2|36|1|gpu:4", "debug|1|72|500000|2|36|1|gpu:4")
    groups = Slurm().parse_nodes([sinfo(*lines)])
    assert [(group.nodes, group.queues, group.gpus) for group in groups] == [
        (16, ("gpu", "debug"), 4),
        (2, ("cpu",), 0),
    ]


@pytest.mark.parametrize("line", ["p|2", "p|x|4|1|4|1|1|(null)", "<html>"])
def test_garbage_is_no_machine(line: str) -> None:
    with pytest.raises(SchedulerError):
        Slurm().parse_nodes([sinfo(line)])
    with pytest.raises(SchedulerError):
        Slurm().parse_queues(sinfo(line))
    with pytest.raises(SchedulerError):
        Pbs().parse_nodes([said("pbsnodes", line)])


def test_recorded_nodes_of_pbs() -> None:
    text = (FOLDER / "pbs/samples/pbsnodes_a_with_jobs.json").read_text()
    groups = Pbs().parse_nodes([said("pbsnodes", text)])
    assert groups == [NodeGroup(2, cpus=16, memory=64 * GIB, gpus=4)]


def test_virtual_nodes_of_a_host_are_one_node() -> None:
    part = '"queue": "h", "resources_available": {"host": "a", "ncpus": 18, "ngpus": 1, "mem": "134000000kb"}'
    text = f'{{"nodes": {{"a[0]": {{{part}}}, "a[1]": {{{part}}}}}}}'
    (group,) = Pbs().parse_nodes([said("pbsnodes", text)])
    assert group == NodeGroup(1, ("h",), cpus=36, memory=255 * GIB, gpus=2)


def test_who_does_not_tell_is_not_asked() -> None:
    assert Local().nodes_argv() == [] and registry.load("pbs", {"history": "H"}).nodes_argv() == []
    assert Local().parse_nodes([]) == []


# ---- Grid Engine: three busy hosts of a real 8.1.9, with a consumable `gpu` of 4 on each

QHOST, COMPLEXES = answer("machine.txt", "qhost -F -q -xml"), answer("machine.txt", "qconf -sc")
OF_HOST = answer("machine.txt", "qconf -se kumo01")
GPU_LINE = "gpu                 gpu           INT       <=    YES         YES        0        0"


def gridengine(complexes: str, qhost: str = QHOST.stdout, of_host: str = OF_HOST.stdout) -> list[NodeGroup]:
    answers = [replace(QHOST, stdout=qhost), replace(COMPLEXES, stdout=complexes)]
    further = GridEngine().nodes_follow_up_argv(answers)
    hosts = [CommandOutput(tuple(argv), 0, of_host, "") for argv in further]
    return GridEngine().parse_nodes(answers + hosts)


def test_busy_hosts_of_grid_engine_have_their_configured_gpus() -> None:
    assert GridEngine().nodes_follow_up_argv([QHOST, COMPLEXES]) == [["qconf", "-se", f"kumo0{n}"] for n in (1, 2, 3)]
    expected = NodeGroup(3, ("all.q", "short.q"), cores=2, cpus=2, memory=23 * GIB, gpus=4, gpu_request="slot",
                         gpu_resource="gpu")  # fmt: skip
    assert gridengine(COMPLEXES.stdout) == [expected]


def test_idle_hosts_need_no_further_query() -> None:
    idle = QHOST.stdout.replace("'slots_used'>1<", "'slots_used'>0<").replace("'hc'>1.000000", "'hc'>4.000000")
    assert GridEngine().nodes_follow_up_argv([replace(QHOST, stdout=idle), COMPLEXES]) == []
    (group,) = gridengine(COMPLEXES.stdout, idle)
    assert group.gpus == 4


@pytest.mark.parametrize(
    ("line", "amounts", "gpus", "counts"),
    [
        ("gpu gpu INT <= YES JOB 0 0", "gpu=4,slots=4", 4, "job"),
        ("gpu gpu RSMAP <= YES HOST 0 0", "slots=4,gpu=2(0 1)", 2, "host"),
        ("gpu ngpus INT <= FORCED YES 0 0", "gpu=8,slots=4", 8, "slot"),
        ("gpu gpu INT <= YES NO 0 0", "gpu=4,slots=4", None, ""),
        ("gpu gpu INT <= NO YES 0 0", "gpu=4,slots=4", None, ""),
        ("gpu gpu MEMORY <= YES YES 0 0", "gpu=4G,slots=4", None, ""),
        ("gpu gpu BOOL == YES YES 0 0", "gpu=1,slots=4", None, ""),
    ],
)
def test_what_a_request_for_gpus_counts(line: str, amounts: str, gpus: int | None, counts: str) -> None:
    complexes = COMPLEXES.stdout.replace(GPU_LINE, line)
    assert complexes != COMPLEXES.stdout
    (group,) = gridengine(complexes, of_host=OF_HOST.stdout.replace("gpu=4,slots=4", amounts))
    assert (group.gpus, group.gpu_request, group.gpu_resource) == (gpus, counts, "gpu" if counts else "")


@pytest.mark.parametrize(
    ("name", "alike"),
    [("gpu", True), ("gpus", True), ("ngpus", True), ("num_gpu", True), ("GPU", True), ("cuda", True),
     ("gpu_a100", True), ("gpu_v100", True), ("nvidia_gpu", True), ("gpu_mem", False), ("gpu_load", False),
     ("slots", False), ("gpuless", False), ("cudnn", False), ("gpu_shared", False)],
)  # fmt: skip
def test_names_of_gpus(name: str, alike: bool) -> None:
    line = GPU_LINE.replace("gpu", name)
    (group,) = gridengine(
        COMPLEXES.stdout.replace(GPU_LINE, line), QHOST.stdout.replace("name='gpu'", f"name='{name}'"),
        OF_HOST.stdout.replace("gpu=", f"{name}="),
    )  # fmt: skip
    assert (group.gpus, group.gpu_resource) == ((4, name) if alike else (None, ""))


def test_two_resources_for_gpus_are_not_decided() -> None:
    line = "<resourcevalue name='gpu' dominance='hc'>1.000000</resourcevalue>"
    qhost = QHOST.stdout.replace(line, line + "\n" + line.replace("gpu", "gpu_a100"))
    (group,) = gridengine(
        COMPLEXES.stdout.replace(GPU_LINE, GPU_LINE + "\n" + GPU_LINE.replace("gpu", "gpu_a100")), qhost
    )
    assert (group.gpus, group.gpu_request, group.gpu_resource) == (None, "", "gpu, gpu_a100")
    text = draft("kumo", ProfileAnswers("gridengine"), Machine([QueueInfo("all.q")], [group]), ["qhost"], "2026-11-29")
    assert "gpu_request: none" in text and "each of these resources may stand for them: gpu, gpu_a100" in text


def test_hosts_without_gpus_beside_hosts_with_gpus_have_none() -> None:
    first, second = QHOST.stdout.split("<host name='kumo02'>")
    second = second.replace("   <resourcevalue name='gpu' dominance='hc'>1.000000</resourcevalue>\n", "", 1)
    groups = gridengine(COMPLEXES.stdout, first + "<host name='kumo02'>" + second)
    assert [(group.nodes, group.gpus) for group in groups] == [(2, 4), (1, 0)]


def test_an_unanswered_query_leaves_gpus_unknown() -> None:
    refused = CommandOutput(("qconf", "-sc"), 1, "", "denied")
    (group,) = GridEngine().parse_nodes([QHOST, refused])
    assert (group.nodes, group.gpus, group.cpus) == (3, None, 2)
    (group,) = GridEngine().parse_nodes([QHOST, COMPLEXES])
    assert group.gpus is None, "what is free is not what a host has"


def test_a_truncated_list_of_hosts_is_no_machine() -> None:
    with pytest.raises(SchedulerError):
        GridEngine().parse_nodes([replace(QHOST, stdout=QHOST.stdout[:-30]), COMPLEXES])
