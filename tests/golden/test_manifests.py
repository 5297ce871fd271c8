"""The whole manifest of every Kubernetes cluster × launcher × recipe, compared with reviewed files and the schemas.

After a wanted change: `HACKATHON_GOLDEN=write pytest tests/golden`, then review the difference in git.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hackathon.config import load
from hackathon.config.cluster import PLAIN_LAUNCHERS, Cluster
from hackathon.jobs.render import render_files
from hackathon.jobs.request import Options
from hackathon.jobs.resolve import Sources, resolve
from hackathon.schedulers import registry
from hackathon.schedulers.base import Submission
from hackathon.schedulers.dialect import Header
from hackathon.text.errors import RequestError
from support.kubernetes_schemas import complaints

MANIFESTS = Path(__file__).parent / "manifests"
CLUSTERS = [cluster for cluster in registry.list_clusters([])[0]
            if "job.yaml" in registry.dialect_of(cluster).file_names]  # fmt: skip
RECIPES = [recipe.name for recipe in load.list_recipes([])[0]]
_recipe = cache(lambda name: load.load_recipe(name, []))
OWNER = {"run_as_user": 1001, "run_as_group": 2001}
TOLERATIONS = [{"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoExecute"}, {"operator": "Exists"}]
VARIANTS: dict[str, tuple[dict[str, Any], str | None]] = {
    "kueue": ({"gang": "kueue"}, "team-queue"),
    "volcano": ({"gang": "volcano"}, "batch"),
    "volcano-no-queue": ({"gang": "volcano"}, None),
    "scheduler-plugins": ({"gang": "scheduler-plugins", "scheduler_name": "gang-scheduler"}, None),
    "host-path": ({"volume": {"host_path": "/mnt/lustre/work", "path": "/work"}, "shm_size": "64Gi"}, None),
    "everything": (
        {
            "tolerations": TOLERATIONS, "node_selector": {"nvidia.com/gpu.product": "H100", "pool": ""},
            "image_pull_secrets": ["a", "b"], "image_pull_policy": "Always", "priority_class": "high",
            "supplemental_groups": [3001, 3002], "resources": {"memory": "200Gi", "rdma/hca": "1"},
            "cpu_request": "cpu",
        },
        None,
    ),
}  # fmt: skip
"""What profiles may set: name → (keys of the dialect, queue)."""
HEADER = Header(None, None, None, nodes=2, processes=16, processes_per_node=8, threads=4, gpus_per_node=8, walltime=600)


@pytest.fixture(autouse=True)
def fixed_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files must not depend on who runs the test."""
    monkeypatch.setenv("LOGNAME", "alice")


def _with(cluster: Cluster, keys: Mapping[str, Any]) -> Cluster:
    return replace(cluster, dialect={**cluster.dialect, **OWNER, **keys})


def _cases() -> Iterator[tuple[str, Cluster, str]]:
    for cluster in CLUSTERS:
        for name in RECIPES:
            for launcher in cluster.launchers:
                if launcher in (_recipe(name)[0].launchers or PLAIN_LAUNCHERS):
                    yield name, cluster, launcher


def _manifest(name: str, cluster: Cluster, launcher: str) -> str:
    recipe, folder = _recipe(name)
    nodes = 1 if launcher == "local" else 2
    options = Options(nodes=nodes, launcher=launcher)
    request = resolve(Sources(cluster=cluster, options=options, recipe=recipe, folder=folder))
    cluster = _with(cluster, {})
    request = replace(request, dialect=cluster.dialect)
    (text,) = render_files(request, cluster, Path("/home/alice/runs")).values()
    return text


def _variant(name: str, nodes: int = 2) -> str:
    keys, queue = VARIANTS[name]
    generic = next(cluster for cluster in CLUSTERS if cluster.name == "kubernetes")
    return _files(_with(generic, keys), replace(HEADER, queue=queue, nodes=nodes))


def _files(cluster: Cluster, header: Header, run: str = "/work/team/runs/RUN") -> str:
    scheduler = registry.load(cluster.scheduler, cluster.dialect)
    submission = Submission(Path(run) / "job.sh", Path(run), "hk-run", Path(run) / "logs" / "scheduler.log")
    cluster_files = scheduler.files(submission, header)
    assert set(cluster_files) == set(scheduler.dialect.file_names)
    scheduler.dialect.directives(header)
    return cluster_files["job.yaml"]


def _as_reviewed(name: str, text: str) -> None:
    path = MANIFESTS / f"{name}.yaml"
    if os.environ.get("HACKATHON_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text


def _objects(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def test_manifests_are_as_reviewed() -> None:
    """Parameters are the script's business: the manifests of all recipes of one shape are equal, and have one file."""
    shapes: dict[str, set[str]] = {}
    for name, cluster, launcher in _cases():
        shapes.setdefault(f"{cluster.name}-{launcher}", set()).add(_manifest(name, cluster, launcher))
    assert set(shapes) == {f"{cluster.name}-{each}" for cluster in CLUSTERS
                                                for each in cluster.launchers}  # fmt: skip
    for key, texts in shapes.items():
        (text,) = texts
        _as_reviewed(key, text)


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_are_as_reviewed(name: str) -> None:
    _as_reviewed(f"variant-{name}", _variant(name))


def test_no_manifest_is_left_over() -> None:
    wanted = {f"{cluster.name}-{launcher}" for _, cluster, launcher in _cases()}
    assert {path.stem for path in MANIFESTS.iterdir()} == wanted | {f"variant-{name}" for name in VARIANTS}


def test_service_comes_first_and_only_where_pods_must_find_each_other() -> None:
    for name in VARIANTS:
        kinds = [each["kind"] for each in _objects(_variant(name))]
        assert kinds[0] == "Service" and kinds[-1] == "Job" and set(kinds[1:-1]) <= {"PodGroup"}
        assert [each["kind"] for each in _objects(_variant(name, nodes=1))] == ["Job"]


# ---- what the server would refuse


def _all() -> dict[str, list[dict[str, Any]]]:
    """Return every rendered manifest by name, also those of one pod."""
    found = {f"{name} {cluster.name} {launcher}": _objects(_manifest(name, cluster, launcher))
             for name, cluster, launcher in _cases()}  # fmt: skip
    for name in VARIANTS:
        found |= {f"{name} {nodes}": _objects(_variant(name, nodes)) for nodes in (1, 2)}
    return found


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_every_manifest_passes_the_strict_schemas_and_mistakes_do_not() -> None:
    """PodGroups are custom resources, which the schemas do not know."""
    distinct = {repr(each): (name, each) for name, objects in _all().items() for each in objects}
    known: dict[str, list[dict[str, Any]]] = {}
    for name, each in distinct.values():
        if each["kind"] != "PodGroup":
            known.setdefault(name, []).append(each)
    wrong = _objects(_variant("host-path"))
    wrong[1]["spec"]["backofLimit"] = 0
    wrong[0]["spec"]["publishNotReadyAddresses"] = "yes"
    versions, found = complaints({**known, "mistakes": wrong})
    assert [version for version in versions if version.startswith("1.27")] and len(versions) >= 11
    assert {each.partition(":")[0] for each in found} == {f"{version} mistakes" for version in versions}
    assert sum("backofLimit" in each for each in found) == sum("'yes'" in each for each in found) == len(versions)


ENUMERATIONS = {
    "apiVersion": {"v1", "batch/v1", "scheduling.volcano.sh/v1beta1", "scheduling.x-k8s.io/v1alpha1"},
    "kind": {"Service", "Job", "PodGroup"},
    "clusterIP": {"None"},
    "completionMode": {"Indexed", "NonIndexed"},
    "restartPolicy": {"Never", "OnFailure"},
    "fsGroupChangePolicy": {"OnRootMismatch", "Always"},
    "imagePullPolicy": {"Always", "IfNotPresent", "Never"},
    "medium": {"Memory", ""},
    "operator": {"Exists", "Equal"},
    "effect": {"NoSchedule", "PreferNoSchedule", "NoExecute"},
    "type": {"Directory"},
}
"""Key → its values in the API, which the schemas call any text."""


def _texts(value: Any) -> Iterator[tuple[str, Any]]:
    for key, each in value.items() if isinstance(value, dict) else ():
        yield key, each
        yield from _texts(each)
    for each in value if isinstance(value, list) else ():
        yield from _texts(each)


def test_values_of_enumerations_are_those_of_the_api() -> None:
    met = set()
    for objects in _all().values():
        for key, value in _texts(objects):
            if key in ENUMERATIONS:
                met.add(key)
                assert value in ENUMERATIONS[key], (key, value)
    assert met == set(ENUMERATIONS)


def test_what_the_servers_own_checks_ask_for() -> None:
    """Rules of Kubernetes' validation that are in no schema."""
    label = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
    for objects in _all().values():
        job = objects[-1]
        spec, pod = job["spec"], job["spec"]["template"]["spec"]
        assert label.match(job["metadata"]["name"]) and len(job["metadata"]["name"]) + len("-1023-abcde") <= 63
        assert {each["metadata"]["namespace"] for each in objects} == {job["metadata"]["namespace"]}
        assert spec["parallelism"] == spec["completions"] and spec["backoffLimit"] == 0
        mounts = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
        assert set(mounts) == {each["name"] for each in pod["volumes"]} and len(set(mounts.values())) == 2
        assert {"runAsUser", "runAsGroup", "fsGroup"} <= set(pod["securityContext"])
        for toleration in pod.get("tolerations", []):
            assert "value" not in toleration or toleration["operator"] == "Equal"
        if spec["completions"] > 1:
            service = objects[0]
            assert pod["subdomain"] == service["metadata"]["name"]
            assert service["spec"]["selector"].items() <= job["spec"]["template"]["metadata"]["labels"].items()


# ---- values are data


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0/"), min_size=1, max_size=20))
def test_no_value_becomes_structure(word: str) -> None:
    if word in (".", ".."):
        return
    run = f"/work/{word}/runs/RUN"
    generic = next(cluster for cluster in CLUSTERS if cluster.name == "kubernetes")
    cluster = _with(generic, {"priority_class": word, "image": word, "image_pull_secrets": [word]})
    scheduler = registry.load(cluster.scheduler, cluster.dialect)
    submission = Submission(Path(run) / "job.sh", Path(run), "hk-run", Path(run) / "o")
    service, job = _objects(scheduler.files(submission, HEADER)["job.yaml"])
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (pod["priorityClassName"], container["image"], pod["imagePullSecrets"]) == (word, word, [{"name": word}])
    assert container["workingDir"] == run
    # Kubernetes replaces $(NAME) and $$ in commands and values of variables
    assert [each.replace("$$", "$") for each in container["command"]] == ["bash", f"{run}/job.sh"]
    assert re.findall(r"(?<!\$)(?:\$\$)*\$(?!\$)", container["command"][1]) == []
    assert service["metadata"]["name"] == "hk-run"


@pytest.mark.parametrize(
    ("keys", "queue", "run", "word"),
    [
        ({"image": None}, None, "/work/a", "dialect.image"),
        ({"volume": None}, None, "/work/a", "dialect.volume"),
        ({}, None, "/home/alice/a", "not on the volume"),
        ({}, None, "/work/../home/a", "not on the volume"),
        ({}, None, "/work/\udcff", "UTF-8"),
        ({"gang": "kueue"}, None, "/work/a", "needs a queue"),
        ({}, "fast", "/work/a", "no meaning"),
        ({"volume": {"path": "/work"}}, None, "/work/a", "claim"),
        ({"resources": {"memory": "much"}}, None, "/work/a", "resources.memory"),
        ({"node_selector": {"a b": "c"}}, None, "/work/a", "node_selector"),
    ],
)
def test_what_gives_no_job_is_refused_with_the_remedy(
    keys: dict[str, Any], queue: str | None, run: str, word: str
) -> None:
    generic = next(cluster for cluster in CLUSTERS if cluster.name == "kubernetes")
    with pytest.raises(RequestError, match=re.escape(word)):
        _files(_with(generic, keys), replace(HEADER, queue=queue), run)
