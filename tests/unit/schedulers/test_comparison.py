"""A profile beside what its scheduler says, the corrected text of it, and new profiles."""

from pathlib import Path
from typing import Any

import pytest

from hackathon.config import load
from hackathon.config.cluster import Cluster
from hackathon.config.yaml import parse_yaml
from hackathon.schedulers import comparison, registry
from hackathon.schedulers.comparison import Machine, compare
from hackathon.schedulers.profile_draft import ProfileAnswers, draft
from hackathon.schedulers.proposal import corrected
from hackathon.schedulers.reports import NodeGroup, QueueInfo
from hackathon.text.errors import RequestError

GIB = 2**30
PLACE = Path("kumo.yaml")
DAY = "2026-11-23"
PROFILE = """\
name: kumo          # the department's
scheduler: slurm
node: {cores: 36, memory: 256 GB, gpus: 2}   # two sockets
queue: debug
queues:
  debug: {nodes: 4, walltime: 00:30:00}      # as the manual says
  main: {}
  old: {walltime: 10:00:00}
unverified:
  - node.cores
  - queues.debug.nodes                       # K
  - queues.main
sources:
  K: {title: Memory, date: "2026-11-01", confirmed: false}
evidence: {node: K, queues: K, queues.old.walltime: K, scheduler: K}
"""
NODES = NodeGroup(16, ("debug", "main"), cores=36, cpus=72, memory=251 * GIB, gpus=4)
QUEUES = [
    QueueInfo("debug", nodes=4, walltime=3600, size=16, min_nodes=1),
    QueueInfo("main", enabled=False, nodes=16, walltime=86400, size=16, min_nodes=2),
    QueueInfo("big", nodes=16, size=16),
]


def read(text: str) -> tuple[Cluster, dict[str, Any]]:
    cluster = load.read_cluster(text.encode(), PLACE, "kumo", registry.dialect_type)
    return cluster, parse_yaml(text.encode(), PLACE).value


def verdicts(text: str, machine: Machine) -> dict[str, str]:
    return {each.key: each.verdict for each in compare(*read(text), machine)}


def test_each_value_has_a_verdict() -> None:
    cluster, written = read(PROFILE)
    machine = Machine(QUEUES, [NODES])
    assert {each.key: each.verdict for each in compare(cluster, written, machine)} == {
        "queues.debug": "same", "queues.debug.nodes": "same", "queues.debug.walltime": "differs",
        "queues.main": "same", "queues.main.min_nodes": "differs", "queues.main.nodes": "missing",
        "queues.main.walltime": "missing", "queues.old": "gone", "node.cores": "same", "node.memory": "same",
        "node.gpus": "differs", "dialect.gpu_request": "missing",
    }  # fmt: skip
    assert comparison.others(cluster, machine) == ["big"] and comparison.closed(cluster, machine) == ["main"]


def test_corrected_profile_keeps_comments_and_a_second_look_finds_nothing() -> None:
    machine = Machine(QUEUES, [NODES])
    new = corrected(PROFILE, PLACE, "kumo", compare(*read(PROFILE), machine), "asked", DAY)
    cluster, written = read(new)
    assert cluster.queues["debug"].walltime == 3600 and cluster.queues["main"].min_nodes == 2
    assert (cluster.node.gpus, cluster.queue, cluster.unverified) == (4, "debug", [])
    assert "old" not in cluster.queues and "queues.old.walltime" not in cluster.evidence
    for comment in ("# the department's", "# two sockets", "# as the manual says"):
        assert comment in new
    assert cluster.evidence["queues.debug.walltime"] == "checked-2026-11-23"  # not the old source: it was wrong
    assert cluster.evidence["queues.debug.nodes"] == ["K", "checked-2026-11-23"]
    assert cluster.evidence["node.cores"] == ["K", "checked-2026-11-23"] and "node.memory" not in cluster.evidence
    again = compare(cluster, written, machine)
    assert not comparison.CHANGES & {each.verdict for each in again}
    assert corrected(new, PLACE, "kumo", again, "asked", "2026-12-24") == new


def test_nothing_is_changed_by_a_scheduler_that_tells_nothing() -> None:
    machine = Machine([QueueInfo(name) for name in ("debug", "main", "old")], [])
    compared = compare(*read(PROFILE), machine)
    assert {each.verdict for each in compared} == {"same", "unknown"}
    new = corrected(PROFILE, PLACE, "kumo", compared, "asked", DAY)
    assert read(new)[0].unverified == ["node.cores", "queues.debug.nodes"]  # main is there: no more was said of it


def test_limit_below_the_number_of_nodes_is_possible() -> None:
    queue = QueueInfo("debug", nodes=16, size=16)
    assert verdicts(PROFILE, Machine([queue], []))["queues.debug.nodes"] == "possible"
    explicit = QueueInfo("debug", nodes=8, size=16)
    assert verdicts(PROFILE, Machine([explicit], []))["queues.debug.nodes"] == "differs"
    fewer = QueueInfo("debug", nodes=3, size=3)
    assert verdicts(PROFILE, Machine([fewer], []))["queues.debug.nodes"] == "differs"


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (NodeGroup(1, cpus=36), "possible"),
        (NodeGroup(1, cpus=72), "possible"),
        (NodeGroup(1, cores=72, cpus=72), "differs"),
        (NodeGroup(1, cpus=48), "differs"),
        (NodeGroup(1), "unknown"),
    ],
)
def test_cpus_may_be_threads(group: NodeGroup, expected: str) -> None:
    assert verdicts(PROFILE, Machine(QUEUES, [group]))["node.cores"] == expected


@pytest.mark.parametrize(("memory", "expected"), [(251 * GIB, "same"), (200 * GIB, "differs"), (None, "unknown")])
def test_memory_may_be_a_little_less(memory: int | None, expected: str) -> None:
    assert verdicts(PROFILE, Machine(QUEUES, [NodeGroup(1, memory=memory)]))["node.memory"] == expected


def test_nodes_that_the_profile_means() -> None:
    login, other = NodeGroup(99, ("login",), cores=8), NodeGroup(20, ("main",), cores=48, gpus=0)
    cluster, _ = read(PROFILE)
    assert comparison.nearest_group(cluster, [login, other, NODES]) == NODES
    assert comparison.nearest_group(cluster, [login, other]) == other
    assert comparison.nearest_group(cluster, []) is None


def test_profile_without_queues_gets_all() -> None:
    text = "name: kumo\nscheduler: slurm\nnode: {cores: auto}\nqueues: {}  # not known\nunverified: [queues]\n"
    machine = Machine(QUEUES, [NODES])
    new = corrected(text, PLACE, "kumo", compare(*read(text), machine), "asked", DAY)
    cluster, written = read(new)
    assert list(cluster.queues) == ["debug", "main", "big"] and cluster.unverified == []
    assert cluster.evidence["queues"] == "checked-2026-11-23" and cluster.node.memory == 251 * GIB
    assert not comparison.CHANGES & {each.verdict for each in compare(cluster, written, machine)}


def test_patch_that_would_be_no_profile_is_refused() -> None:
    text = PROFILE.replace("queue: debug", "queue: old").replace(
        "queues:\n", "patterns: {queue: '[a-z]+'}\nqueues:\n", 1
    )
    new = corrected(text, PLACE, "kumo", compare(*read(text), Machine(QUEUES, [])), "asked", DAY)
    assert read(new)[0].queue is None  # the default queue went with its queue
    bare = text.replace("  debug: {nodes: 4, walltime: 00:30:00}      # as the manual says\n  main: {}\n", "")
    bare = bare.replace("  - queues.debug.nodes                       # K\n  - queues.main\n", "")
    with pytest.raises(RequestError) as refused:  # a queue's name that the profile's own pattern refuses
        empty = bare.replace("queue: old\n", "").replace("  old: {walltime: 10:00:00}\n", "  {}\n")
        empty = empty.replace("queues.old.walltime: K, ", "")
        machine = Machine([QueueInfo("UPPER", nodes=1)], [])
        corrected(empty, PLACE, "kumo", compare(*read(empty), machine), "asked", DAY)
    assert "kumo.yaml cannot be changed automatically" in refused.value.message
    assert "queues.UPPER: {nodes: 1}" in refused.value.message


def test_queue_that_is_gone_takes_nothing_with_it() -> None:
    note = "  old:\n    nodes: 4\n    walltime: >-\n      10:00:00\n"
    text = PROFILE.replace("  main: {}\n  old: {walltime: 10:00:00}\n", f"{note}  # of the faculty\n  main: {{}}\n")
    machine = Machine(QUEUES, [NODES])
    new = corrected(text, PLACE, "kumo", compare(*read(text), machine), "asked", DAY)
    assert list(read(new)[0].queues) == ["debug", "main"] and "# of the faculty" in new


@pytest.mark.parametrize("other", ["other: *gone", "other: {nodes: *four}"])
def test_profile_with_an_alias_to_what_would_change_is_left_to_people(other: str) -> None:
    text = PROFILE.replace("  old: {walltime: 10:00:00}\n", f"  old: &gone {{nodes: &four 4}}\n  {other}\n")
    text = text.replace("queues.old.walltime: K, ", "")
    machine = Machine([*QUEUES, QueueInfo("other", nodes=4, size=16)], [NODES])
    with pytest.raises(RequestError) as refused:
        corrected(text, PLACE, "kumo", compare(*read(text), machine), "asked", DAY)
    assert refused.value.id == "clusters.not_writable" and "queues.old: –" in refused.value.message


def test_new_profile_of_what_the_machine_and_a_person_say() -> None:
    said = ProfileAnswers("slurm", "The cloud", dialect={"group": "account"}, environment=("module load a: b",))
    other = NodeGroup(2, ("big",), cores=48, gpus=0)
    text = draft("kumo", said, Machine(QUEUES, [NODES, other]), ["sinfo"], DAY)
    cluster, written = read(text)
    assert (cluster.node.cores, cluster.node.gpus, cluster.processes_per_node) == (36, 4, 4)
    assert cluster.environment == ["module load a: b"] and cluster.dialect["group"] == "account"
    assert cluster.unverified == ["processes_per_node", "starter"] and cluster.dialect["gpu_request"] == "gres"
    assert "2 other nodes: {cores: 48, gpus: 0}; queues: big" in text
    assert cluster.queues["main"].min_nodes == 2 and "asked" in cluster.sources
    assert not comparison.CHANGES & {each.verdict for each in compare(cluster, written, Machine(QUEUES, [NODES]))}


@pytest.mark.parametrize("scheduler", sorted(registry.BUILT_IN))
def test_new_profile_of_nothing_but_a_schedulers_name(scheduler: str) -> None:
    cluster, _ = read(draft("kumo", ProfileAnswers(scheduler), None, [], DAY))
    assert {"starter", "processes_per_node"} <= set(cluster.unverified)
    assert set(cluster.sources) == {"told", "guess"} and not cluster.sources["guess"].confirmed
    if scheduler != "local":
        assert "queues" in cluster.unverified and "node.gpus" in cluster.unverified


def test_nodes_with_gpus_are_the_profiles_whatever_there_are_more_of() -> None:
    machine = Machine([QueueInfo("cpu", nodes=90), QueueInfo("gpu", nodes=4)], [
        NodeGroup(90, ("cpu",), cores=48, gpus=0), NodeGroup(4, ("gpu",), cores=36, gpus=4),
    ])  # fmt: skip
    text = draft("kumo", ProfileAnswers("slurm"), machine, ["sinfo"], DAY)
    cluster, written = read(text)
    assert (cluster.node.gpus, list(cluster.queues), cluster.dialect["gpu_request"]) == (4, ["gpu"], "gres")
    assert "for a profile of their own: cpu" in text
    assert not comparison.CHANGES & {value.verdict for value in compare(cluster, written, machine)}
    pbs = read(draft("kumo", ProfileAnswers("pbs"), machine, ["qstat"], DAY))[0]
    assert (pbs.dialect["gpu_request"], pbs.dialect["cpu_request"]) == ("ngpus", "ncpus")


@pytest.mark.parametrize(
    ("dialect", "unrequested"),
    [("{}", 4), ("{gpu_request: none}", 4), ("{gpu_request: gres}", 0), ("{gpu_request: gpus-per-node}", 0)],
)
def test_profile_that_requests_no_gpus_where_there_are_some(dialect: str, unrequested: int) -> None:
    text = "name: kumo\nscheduler: slurm\nnode: {cores: 36, gpus: 4}\ndialect: " + dialect + "\n"
    cluster, written = read(text)
    machine = Machine([], [NodeGroup(4, ("gpu",), cores=36, gpus=4)])
    assert comparison.gpus_unrequested(cluster, machine) == unrequested
    changes = {value.key for value in compare(cluster, written, machine) if value.verdict in comparison.CHANGES}
    assert ("dialect.gpu_request" in changes) == bool(unrequested)
    confirmed = text + "sources: {M: {title: the manual, date: 2026-11-01}}\nevidence: {dialect: M}\n"
    rows = compare(*read(confirmed), machine) if "gpu" in dialect else []
    assert "dialect.gpu_request" not in {value.key for value in rows}, "the site's own word counts"
    without = Machine([], [NodeGroup(4, ("gpu",), cores=36, gpus=0)])
    assert comparison.gpus_unrequested(cluster, without) == 0


@pytest.mark.parametrize(
    ("lines", "unrequested"),
    [
        ("dialect: {pe: node}", 4),
        ("dialect: {gpu_request: slot}", 0),
        ("dialect: {queue: resource}", 0),
        ('directives: ["-l gpu=4"]', 0),
        ('directives: ["-m n"]', 4),
    ],
)
def test_profile_of_grid_engine_that_requests_no_gpus(lines: str, unrequested: int) -> None:
    """A resource type brings its GPUs, and a directive may request them."""
    cluster, written = read(f"name: kumo\nscheduler: gridengine\nnode: {{cores: 36, gpus: 4}}\n{lines}\n")
    machine = Machine([], [NodeGroup(4, ("gpu.q",), cores=36, gpus=4, gpu_request="slot", gpu_resource="ngpus")])
    assert comparison.gpus_unrequested(cluster, machine) == unrequested
    changes = {value.key: value.machine for value in compare(cluster, written, machine)
               if value.verdict in comparison.CHANGES}  # fmt: skip
    wanted = {"dialect.gpu_request": "slot", "dialect.gpu_resource": "ngpus"} if unrequested else {}
    assert changes == wanted


def test_a_queue_that_stands_for_a_qos_is_not_gone() -> None:
    """sinfo prints partitions: the limits of a QOS stay as they are, those of a partition are compared by its name."""
    text = PROFILE.replace(
        "  old: {walltime: 10:00:00}\n", "  night: {partition: big, nodes: 16}\n  quick: {qos: quick}\n"
    )
    text = text.replace(", queues.old.walltime: K", "")
    cluster, written = read(text)
    machine = Machine(QUEUES, [NODES])
    compared = {each.key: each.verdict for each in compare(cluster, written, machine)}
    assert compared["queues.night.nodes"] == "same" and not any("quick" in key for key in compared)
    assert comparison.others(cluster, machine) == [] and comparison.closed(cluster, machine) == ["main"]


def test_a_new_profile_scatters_where_a_queue_does_not_and_marks_closed_queues() -> None:
    queues = [QueueInfo("shut", enabled=False, scatters=True), QueueInfo("work", scatters=False), QueueInfo("route")]
    text = draft("kumo", ProfileAnswers("pbs"), Machine(queues, []), ["qstat"], DAY)
    cluster, __ = read(text)
    assert cluster.dialect["place"] == "scatter" and "dialect.place" not in cluster.unverified
    assert list(cluster.queues) == ["work", "route", "shut"] and cluster.queues["shut"].note == f"closed on {DAY}"
    spread = [QueueInfo("work", scatters=True), QueueInfo("route")]
    assert "place" not in draft("kumo", ProfileAnswers("pbs"), Machine(spread, []), ["qstat"], DAY)
    assert "place" not in draft("kumo", ProfileAnswers("slurm"), Machine(queues, []), ["sinfo"], DAY)
