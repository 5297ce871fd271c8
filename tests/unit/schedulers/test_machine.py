"""What schedulers say of the machine: queues with their limits, and nodes by their shape."""

from pathlib import Path

import pytest

from hackathon import schedulers
from hackathon.schedulers import registry
from hackathon.schedulers.base import CommandOutput, SchedulerError
from hackathon.schedulers.local.commands import Local
from hackathon.schedulers.pbs.commands import Pbs
from hackathon.schedulers.reports import NodeGroup, QueueInfo
from hackathon.schedulers.slurm.commands import Slurm

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
