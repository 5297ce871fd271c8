"""The page of clusters: limits as the profile says, the event's own runs in them, what was measured."""

import json
import re
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.event import Budget, Event, EventCluster
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.scaling import cluster_measurements as measured
from hackathon.schedulers import runner
from hackathon.schedulers.base import SchedulerError
from hackathon.schedulers.reports import QueueInfo
from hackathon.text.messages import speaking
from hackathon.web.views.cluster import clusters_view, cores
from support.pages.rendered import HOSTILE, harmless, page, read
from support.patience import STRETCH, until

FITS = {"small": {"alpha_us": 12.5, "beta_gb_s": 3.0}, "large": {"alpha_us": 40.0, "beta_gb_s": 9.25}}


def entry(nodes: int, bus: float, **other: Any) -> dict[str, Any]:
    operation = {"bytes": 2**30, "busbw_gb_s": bus, "latency_us": 13.0, "fits": FITS}
    return {
        "nodes": nodes, "processes": 2 * nodes, "hosts": nodes, "backend": "nccl", "date": "2026-01-02T03:04:05Z",
        "run": "r", "operations": {"all-reduce": operation, "broadcast": {**operation, "busbw_gb_s": bus / 2}}, **other,
    }  # fmt: skip


def event(**clusters: EventCluster) -> Event:
    return Event("E", clusters={name.replace("_", "-"): each for name, each in clusters.items()})


def source(made: Event | None, *runs: RunEntry, live: bool = True, folder: Path | None = None) -> Catalog:
    return Catalog(runs, event=made, event_folder=folder, now=time.time(), live=live)


def run(number: int, state: str, queue: str = "h-debug", cluster: str = "reedbush-h") -> RunEntry:
    return RunEntry(f"run-{number}", "/p", state=state, queue=queue, cluster=cluster)


def test_the_events_cluster_with_its_limits() -> None:
    use = EventCluster(queue="h-debug", reservation="hackathon", budget=Budget(node_hours=200, gpu_hours=400))
    runs = [run(1, "RUNNING"), run(2, "RUNNING"), run(3, "QUEUED"), run(4, "HELD", "h-regular"), run(5, "SUCCEEDED")]
    looked = source(event(reedbush_h=use), *runs)
    (cluster,) = clusters_view(looked).clusters
    assert cluster.title == "Reedbush-H, University of Tokyo" and not cluster.problem
    queues = {each.name: each for each in cluster.queues}
    debug = queues["h-debug"]
    assert (debug.nodes, debug.walltime, debug.chosen, debug.sure_nodes) == ("1–4", "00:30:00", True, False)
    assert (debug.running, debug.waiting) == (2, 1)
    assert (queues["h-regular"].waiting, queues["h-regular"].chosen) == (1, False)
    facts = {each.term: each.value for each in (*cluster.facts, *cluster.node)}
    assert facts["Budget of a team"] == "200 node-hours, 400 GPU-hours"
    assert (facts["GPUs"], facts["Memory"], facts["Cores"]) == ("2 × P100-SXM2-16GB", "256 GB", "36")
    reader = read(page("cluster", looked))
    for words in ("the event's", "FDR x2", "unverified", "hackathon clusters reedbush-h --measure", "48:00:00"):
        assert words in reader.text
    ja = read(page("cluster", looked, "ja")).text
    assert "Reedbush-H（東京大学）" in ja and "イベント用" in ja


def test_a_site_tells_limits_and_no_passing_numbers() -> None:
    looked = source(event(reedbush_h=EventCluster()), run(1, "RUNNING"), live=False)
    (cluster,) = clusters_view(looked).clusters
    assert {each.running for each in cluster.queues} == {None}
    text = read(page("cluster", looked)).text
    assert "00:30:00" in text and "Running" not in text and "--measure" not in text


def test_what_was_measured_as_table_and_picture() -> None:
    measured.keep("reedbush-h", [entry(1, 31.4), entry(2, 8.7)])
    looked = source(event(reedbush_h=EventCluster()))
    (cluster,) = clusters_view(looked).clusters
    assert [(each.nodes, each.operation, each.bus) for each in cluster.speeds] == [
        (1, "all-reduce", 31.4), (1, "broadcast", 15.7), (2, "all-reduce", 8.7), (2, "broadcast", 4.35),
    ]  # fmt: skip
    first = cluster.speeds[0]
    assert (first.latency, first.bandwidth, first.size, first.day) == (12.5, 9.25, "1 GiB", "2026-01-02")
    figure = cluster.figure
    assert figure is not None and figure.rows == (("1 node, 2 processes", "31.4"), ("2 nodes, 4 processes", "8.7"))
    assert "31.4" in figure.alt and "Reedbush-H" in figure.alt
    assert [each["bandwidth"] for each in figure.spec["datasets"]["points"]] == [31.4, 8.7]
    assert not re.search(r"https?://(?!vega\.github\.io/schema)", json.dumps(figure.spec))
    html = page("cluster", looked)
    reader = read(html)
    assert reader.elements["svg"] and "Bus bandwidth of all-reduce" in reader.text and "2 nodes, 4 processes" in html
    with speaking("ja"):
        assert clusters_view(looked).clusters[0].figure.rows[1][0] == "2 ノード 4 プロセス"  # type: ignore[union-attr]


def test_measurements_that_people_edited() -> None:
    broken = entry(2, 8.7, backend=HOSTILE, date=HOSTILE)
    broken["operations"] = {HOSTILE: {"bytes": "many", "busbw_gb_s": "nan", "fits": {"small": {"alpha_us": "x"}}}}
    broken["operations"]["broadcast"] = {"bytes": 4096, "busbw_gb_s": 3.0, "fits": {}}
    measured.keep("reedbush-h", [broken])
    looked = source(event(reedbush_h=EventCluster()))
    (cluster,) = clusters_view(looked).clusters
    assert {each.operation: (each.bus, each.latency, each.size) for each in cluster.speeds}["broadcast"] == (
        3.0, None, "4 KiB"
    )  # fmt: skip
    assert cluster.figure is not None and [row[1] for row in cluster.figure.rows] == ["3"], "only what is a number"
    harmless(page("cluster", looked))


def test_clusters_without_a_profile_and_with_a_broken_one(tmp_path: Path) -> None:
    folder = tmp_path / "templates" / "clusters"
    folder.mkdir(parents=True)
    (folder / "broken.yaml").write_text("name: broken\nnode: [\n")
    looked = source(
        event(no_such=EventCluster(queue="q"), broken=EventCluster(), laptop=EventCluster()), folder=tmp_path
    )
    missing, broken, laptop = clusters_view(looked).clusters
    assert "no-such" in missing.problem and [each.value for each in missing.facts] == ["q"]
    assert "broken.yaml" in broken.problem and not laptop.problem
    text = read(page("cluster", looked)).text
    assert "The profile lists no queues" in text


def test_outside_an_event_it_is_the_clusters_of_the_runs() -> None:
    looked = source(None, run(1, "RUNNING"), run(2, "SUCCEEDED", cluster="laptop"), run(3, "FAILED", cluster=""))
    assert [each.name for each in clusters_view(looked).clusters] == ["laptop", "reedbush-h"]
    assert "Neither the event nor a run names a cluster" in read(page("cluster", source(None))).text


def test_cores_for_judging_idle_nodes() -> None:
    assert cores(source(None), "reedbush-h") == 36
    assert cores(source(None), "no-such") is None
    assert (cores(source(None), "laptop") or 0) >= 1


@pytest.mark.slow
def test_nothing_that_people_write_gets_out_of_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "templates" / "clusters"
    folder.mkdir(parents=True)
    profile = {
        "name": "evil", "title": HOSTILE.replace("\x00", ""), "scheduler": "slurm",
        "node": {"cores": 8, "gpus": 2, "gpu": HOSTILE, "network": HOSTILE},
        "queues": {HOSTILE: {"nodes": 2, "note": HOSTILE}}, "peak_tflops": {HOSTILE: 1.0},
    }  # fmt: skip
    (folder / "evil.yaml").write_text(json.dumps(profile))
    measured.keep("evil", [entry(1, 5.0, backend=HOSTILE)])
    use = EventCluster(queue=HOSTILE, reservation=HOSTILE)
    looked = Catalog((), event=event(evil=use), event_folder=tmp_path, now=time.time(), live=True, problems=(HOSTILE,))
    assert not clusters_view(looked).clusters[0].problem
    for language in ("en", "ja"):
        harmless(page("cluster", looked, language))


def test_the_scheduler_s_own_numbers_stand_beside_the_event_s(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def queues(scheduler: Any, **_: Any) -> list[QueueInfo]:
        asked.append(scheduler.name)
        return [QueueInfo("h-debug", True, running=7, queued=12), QueueInfo("h-regular", False), QueueInfo("other")]

    monkeypatch.setattr(runner, "queues", queues)
    made = replace(source(event(**{"reedbush-h": EventCluster()}), run(1, "RUNNING")), asks=True)
    view = clusters_view(made)
    until(lambda: made.memory.recall("occupancy", "reedbush-h") is not None)
    made = replace(made, now=time.time())
    view = clusters_view(made)
    found = {queue.name: queue for queue in view.clusters[0].queues}
    assert (found["h-debug"].running, found["h-debug"].all_running, found["h-debug"].all_waiting) == (1, 7, 12)
    assert found["h-regular"].closed and found["h-regular"].all_running is None
    assert view.clusters[0].told and asked == ["pbs"], "asked once a minute"
    html = page("cluster", made)
    assert "All users: waiting" in html and "starts no jobs" in html
    for other in (
        replace(made, asks=False), replace(made, live=False), replace(made, now=time.time() + 3600),
        replace(made, event=event(**{"reedbush-h": EventCluster(), "reedbush-l": EventCluster()})),
    ):  # fmt: skip
        assert not clusters_view(other).clusters[0].told


def test_a_scheduler_that_does_not_answer_leaves_its_numbers_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def queues(*_: Any, **__: Any) -> list[QueueInfo]:
        asked.set()
        raise SchedulerError("schedulers.no_command", transient=True, command="qstat")

    monkeypatch.setattr(runner, "queues", queues)
    made = replace(source(event(**{"reedbush-h": EventCluster()})), asks=True)
    clusters_view(made)
    assert asked.wait(60 * STRETCH)
    assert clusters_view(made).clusters[0].queues and not clusters_view(made).clusters[0].told
