"""The shipped cluster profiles: readable, honest about what nobody confirmed, and as the machines' users wrote."""

from pathlib import Path
from typing import Any

import pytest
import yaml as pyyaml

from hackathon.cli.main import run
from hackathon.config.check import find_key
from hackathon.config.cluster import Cluster
from hackathon.config.evidence import cited_values, unconfirmed
from hackathon.config.problems import ConfigError
from hackathon.config.yaml import read_yaml
from hackathon.schedulers import registry
from hackathon.text.messages import localized, set_language
from hackathon.text.paths import shipped

FOLDER = shipped("templates", "clusters")
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
PBS = [name for name in NAMES if registry.load_cluster(name).scheduler == "pbs"]


@pytest.fixture(params=NAMES)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    return registry.load_cluster(request.param)


def test_the_machines_that_are_shipped() -> None:
    assert set(NAMES) >= {"laptop", "slurm", "reedbush-h", "reedbush-l", "reedbush-u", "miyabi-g", "miyabi-c", "abci3"}
    clusters, problems = registry.list_clusters()
    assert [each.name for each in clusters] == NAMES
    assert not problems


def test_titles_in_two_languages(cluster: Cluster) -> None:
    titles = set()
    for language in ("en", "ja"):
        set_language(language)
        titles.add(localized(cluster.title))
    assert len(titles) == 2


def test_unverified_paths_name_values_of_the_file(cluster: Cluster) -> None:
    raw = read_yaml(FOLDER / f"{cluster.name}.yaml").value
    for path in cluster.unverified:
        assert find_key(raw, path) is not None, path


def test_each_value_has_a_source_and_what_is_not_confirmed_is_marked(cluster: Cluster) -> None:
    raw = read_yaml(FOLDER / f"{cluster.name}.yaml").value
    assert [value.key for value in cited_values(raw) if not value.sources] == []
    assert [value.key for value in unconfirmed(raw)] == []
    used = {name for value in cited_values(raw) for name in value.sources}
    assert set(cluster.sources) == used


def test_nearest_key_path_names_the_sources() -> None:
    profile = {
        "name": "c", "queues": {"a.b": {"nodes": 4}, "d": {}, "e": {"nodes": 1, "larger": [{"from_nodes": 2}]}},
        "node": {"cores": 4, "gpu": "x"}, "title": {"en": "C", "ja": "C"},
        "sources": {"M": {}, "S": {"confirmed": False}},
        "evidence": {"queues": "M", "queues.a.b": ["S", "M"], "queues.e.nodes": "S", "node.cores": "S"},
        "unverified": ["queues.e"],
    }  # fmt: skip
    found = {value.key: (value.sources, value.unverified) for value in cited_values(profile)}
    assert found == {
        "queues.a.b.nodes": (("S", "M"), False), "queues.d": (("M",), False), "queues.e.nodes": (("S",), True),
        "queues.e.larger": (("M",), True), "node.cores": (("S",), False), "node.gpu": ((), False),
    }  # fmt: skip
    assert [value.key for value in unconfirmed(profile)] == ["node.cores", "node.gpu"]


def test_what_nobody_confirmed_is_marked() -> None:
    assert {"queues.h-debug.nodes", "queues.h-regular.nodes", "node.cores"} <= set(
        registry.load_cluster("reedbush-h").unverified
    )
    assert {"mpi", "environment", "queues.coupler-g"} <= set(registry.load_cluster("miyabi-g").unverified)
    assert {"node.memory", "queues.short-c.note"} <= set(registry.load_cluster("miyabi-c").unverified)
    assert "queues" in registry.load_cluster("reedbush-u").unverified


def test_one_process_for_each_gpu(cluster: Cluster) -> None:
    if isinstance(cluster.node.gpus, int) and cluster.node.gpus:
        assert cluster.processes_per_node == cluster.node.gpus


def test_laptop_needs_no_scheduler_and_has_no_limits() -> None:
    laptop = registry.load_cluster("laptop")
    assert (laptop.scheduler, laptop.starter, laptop.queues, laptop.mpi) == ("local", "local", {}, "auto")
    assert (laptop.node.cores, laptop.node.gpus, laptop.processes_per_node) == ("auto", "auto", "auto")
    assert laptop.launchers == ["torchrun", "mpirun", "local", "horovodrun", "horovodrun-mpi"]


def test_generic_slurm() -> None:
    slurm = registry.load_cluster("slurm")
    assert (slurm.scheduler, slurm.starter, slurm.processes_per_node, slurm.queues) == ("slurm", "srun", 2, {})
    assert (slurm.dialect["group"], slurm.dialect["gpu_request"]) == ("account", "none")
    assert slurm.launchers == ["torchrun", "srun", "mpirun", "horovodrun", "horovodrun-mpi"]


def test_reedbush_h_asks_only_for_what_its_users_named() -> None:
    reedbush = registry.load_cluster("reedbush-h")
    assert (reedbush.dialect["group"], reedbush.dialect["gpu_request"], reedbush.dialect["cpu_request"]) == (
        "group_list",
        "none",
        "none",
    )
    assert (reedbush.processes_per_node, reedbush.threads, reedbush.starter, reedbush.mpi) == (
        2,
        1,
        "mpirun",
        "openmpi",
    )
    assert (reedbush.queues["h-debug"].nodes, reedbush.queues["h-debug"].walltime) == (4, 1800)
    assert (reedbush.queues["h-regular"].nodes, reedbush.queues["h-regular"].walltime) == (32, 48 * 3600)
    assert reedbush.environment[0] == ". /etc/profile.d/modules.sh"
    assert reedbush.variables["HOME"] == "/lustre/$GROUP/$USER"
    assert reedbush.visible_from_nodes == ["/lustre"]
    assert reedbush.peak_tflops == {"fp32": 10.6, "fp16": 21.2}
    assert reedbush.node.memory == 256 * 10**9


def test_reedbush_groups_match_their_pattern() -> None:
    import re

    pattern = registry.load_cluster("reedbush-h").patterns["group"]
    for group in ("pz0425", "gi99", "pz0xxx"):
        assert re.fullmatch(pattern, group)
    for group in ("", "PZ0425", "gi99;id", "g", "gi 99", "gi99\n"):
        assert not re.fullmatch(pattern, group)


def test_other_machines_limits_and_dialects() -> None:
    abci = registry.load_cluster("abci3")
    assert (abci.dialect["group"], abci.starter, abci.directives) == ("project", "ssh", ["-v USE_SSH=1"])
    assert abci.queues["rt_HF"].nodes == 128
    for name in ("rt_HG", "rt_HC"):
        assert (abci.queues[name].nodes, abci.queues[name].processes_per_node) == (1, 1)
    assert (abci.node.gpus, abci.peak_tflops["bf16"]) == (8, 989.4)
    assert registry.load_cluster("reedbush-l").node.gpus == 4
    assert registry.load_cluster("reedbush-l").queues["l-regular"].walltime == 100 * 3600
    assert registry.load_cluster("reedbush-u").node.gpus == 0
    miyabi = registry.load_cluster("miyabi-g")
    assert (miyabi.dialect["group"], miyabi.processes_per_node) == ("group_list", 1)
    assert (miyabi.dialect["history"], abci.dialect["history"]) == ("H", "x")
    regular = miyabi.queues["regular-g"]
    assert [regular.longest(nodes) for nodes in (1, 128, 129, 256)] == [48 * 3600, 48 * 3600, 24 * 3600, 24 * 3600]
    assert (regular.nodes, miyabi.queues["debug-g"].nodes, miyabi.queues["short-g"].walltime) == (256, 16, 8 * 3600)
    assert not {"small-g", "x-large-g", "interact-g_n1"} & set(miyabi.queues)  # jobs get there through others


def test_machines_of_europe_and_america() -> None:
    """GPUs of a node, the default queue's limits, and what each site's header needs."""
    found = {}
    names = "lumi-g leonardo marenostrum5-acc juwels-booster perlmutter frontier polaris delta archer2 isambard-ai"
    for name in names.split():
        cluster = registry.load_cluster(name)
        queue = cluster.queues[cluster.queue or ""]
        found[name] = (cluster.node.gpus, cluster.dialect["gpu_request"], queue.nodes, queue.walltime, queue.qos)
    assert found == {
        "lumi-g": (8, "gpus-per-node", 1024, 48 * 3600, None),
        "leonardo": (4, "gres", None, 24 * 3600, None),
        "marenostrum5-acc": (4, "gres", 100, 72 * 3600, "acc_ehpc"),
        "juwels-booster": (4, "gres", 384, None, None),
        "perlmutter": (4, "gpus-per-node", None, 48 * 3600, "regular"),
        "frontier": (8, "gpus-per-node", 9472, 12 * 3600, None),
        "polaris": (4, "none", 2, 3600, None),
        "delta": (4, "gpus-per-node", None, 48 * 3600, None),
        "archer2": (0, "none", 1024, 24 * 3600, "standard"),
        "isambard-ai": (4, "gpus-per-node", None, 24 * 3600, None),
    }
    assert registry.load_cluster("juwels-booster").master_addr_suffix == "i"
    assert registry.load_cluster("polaris").queues["prod"].min_nodes == 10
    for name in ("lumi-g", "frontier"):  # ROCm: all eight GPUs of a node unless Slurm says else
        assert registry.load_cluster(name).variables["ROCR_VISIBLE_DEVICES"].endswith(":-0,1,2,3,4,5,6,7}")


@pytest.mark.parametrize("name", ["miyabi-g", "miyabi-c"])
def test_limit_that_nobody_confirmed_is_no_limit_on_miyabi(name: str) -> None:
    cluster = registry.load_cluster(name)
    for path in cluster.unverified:
        assert path.rpartition(".")[2] not in ("nodes", "walltime", "larger", "min_nodes"), path


@pytest.mark.parametrize("name", NAMES)
def test_an_old_yaml_reader_sees_the_same_file(name: str) -> None:
    """A centre's editor or script may use YAML 1.1: nothing but walltimes may mean something else there."""
    path = FOLDER / f"{name}.yaml"

    def without_walltimes(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_walltimes(entry) for key, entry in value.items() if key != "walltime"}
        if isinstance(value, list):
            return [without_walltimes(entry) for entry in value]
        return value

    old = pyyaml.safe_load(path.read_text(encoding="utf-8"))
    assert without_walltimes(old) == without_walltimes(read_yaml(path).value)


@pytest.mark.parametrize("name", ["list", "show", "check", "measure", "new"])
def test_sub_verbs_are_no_names_of_clusters(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "templates" / "clusters"
    folder.mkdir(parents=True)
    (folder / f"{name}.yaml").write_text(f"name: {name}\nscheduler: slurm\nnode: {{cores: 1}}\n")
    with pytest.raises(ConfigError) as caught:
        registry.load_cluster(name, [tmp_path])
    (problem,) = caught.value.problems
    assert (problem.key, problem.line) == ("name", 1) and f"{name}-1" in problem.text


def test_a_mark_on_a_block_is_a_mark_on_what_it_contains(capsys: pytest.CaptureFixture[str]) -> None:
    """MareNostrum 5 marks `node` and `queues`: no limit of them is shown as a fact."""
    cluster = registry.load_cluster("marenostrum5-acc")
    assert {"node", "queues"} <= set(cluster.unverified) and "title" not in cluster.unverified
    assert cluster.is_unverified("queues.acc_ehpc.nodes") and cluster.is_unverified("node")
    assert not cluster.is_unverified("title") and not cluster.is_unverified("nodes")
    assert run(["clusters", "marenostrum5-acc"]) == 0
    shown = capsys.readouterr().out
    assert "1–100 ?  72:00:00 ?" in shown and "80 cores ?" in shown
    assert run(["check", "torch-ddp", "--cluster", "marenostrum5-acc", "--group", "x", "--nodes", "200"]) == 2
    assert "at most 100 (unverified limit)" in capsys.readouterr().err
