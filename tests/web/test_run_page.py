"""The page of one run tells how it stands, what is wrong and how it was made, whatever its files hold."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.event import Event, Publish
from hackathon.index.catalog import Catalog
from hackathon.index.record import CauseText
from hackathon.index.studies import run_key
from hackathon.text.messages import speaking
from hackathon.web.routing.registry import values_of
from hackathon.web.views import verdict as finder
from hackathon.web.views.curves import BUCKETS, POINTS
from hackathon.web.views.run import LOGS, RunPage, run_page
from hackathon.web.views.timeline import SHOWN
from support.pages.rendered import Page
from support.pages.run_page import HOSTILE, check_structure, html_of, poison
from support.samples.rich_runs import DIGEST, EVIDENCE, source_of, write_rich
from support.samples.runs import HOSTS

KEYS = {"team", "study", "run", "diff"}


def view_of(source: Catalog, run: Path, language: str = "en") -> RunPage:
    """Return a run's page without drawings."""
    with speaking(language):
        summary = source.find(f"{run.parent.parent}//{run.name}")
        assert summary is not None
        return run_page(source, summary)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("event") / "train"
    first = write_rich(folder, 0, note="first try")
    write_rich(folder, 1, failed=True, lr=0.8, parent=first.name, note="learning rate × 8")
    write_rich(folder, 2, lr=0.2)
    return folder


def runs_of(project: Path) -> list[Path]:
    return sorted((project / "runs").iterdir())


def test_a_failed_run_tells_its_cause_with_evidence_advice_and_causes(project: Path) -> None:
    _, failed, _ = runs_of(project)
    source = source_of(project, live=True)
    view = view_of(source, failed)
    root = view.verdict.findings[0]
    assert (root.level, root.part, root.evidence) == ("root", "GPU", EVIDENCE)
    assert root.place.startswith("logs/rank-1.log:42") and root.advice and len(root.causes) > 1 and root.causes[0][1]
    opened = [log for log in view.logs if log.shown]
    assert [log.name for log in opened] == ["rank-1.log"]
    assert [text for text, hit in opened[0].lines if hit] == [EVIDENCE]
    japanese = view_of(source, failed, "ja").verdict.findings[0]
    assert "メモリ" in japanese.message and japanese.message != root.message
    page = html_of(source, view.key)
    assert root.message in Page(page).text and "<mark>" in page and "learning rate × 8" in page


def test_the_index_word_is_enough_for_a_run_that_goes_on_and_on_the_site(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, failed, _ = runs_of(project)
    monkeypatch.setattr(finder, "_diagnosis", lambda *_: pytest.fail("a diagnosis inside a view"))
    told = {"en": CauseText("Rank 1 is alone", "wait", "no line", "logs/job.log:1")}
    source = source_of(project)
    for state, live in (("FAILED", False), ("RUNNING", True)):
        summaries = [_with(each, state, told) if each.id == failed.name else each for each in source.summaries]
        view = view_of(Catalog(tuple(summaries), source.projects, now=source.now, live=live), failed)
        assert [each.message for each in view.verdict.findings] == ["Rank 1 is alone"], state


def test_the_site_shows_logs_lines_and_differences_only_where_the_event_allows_it(project: Path) -> None:
    _, failed, _ = runs_of(project)
    told = {
        "en": CauseText(
            "GPU 0 is out of memory", "halve the batch", EVIDENCE, "logs/rank-1.log:42", (("too big", "ls"),)
        )
    }
    source = source_of(project)
    source = replace(source, summaries=tuple(replace(each, told=told) for each in source.summaries))
    key = f"{project}//{failed.name}"
    for event, logs, lines in (
        (None, False, False),
        (Event("E", publish=Publish(logs=True)), True, False),
        (Event("E", publish=Publish(source=True)), False, True),
    ):
        page = html_of(replace(source, event=event), key)
        assert ("step 390 loss" in page) == (EVIDENCE in page) == logs
        assert ("+    lr = 0.8" in page) == lines
        assert "GPU 0 is out of memory" in page and "too big" in page and "rank-1.log:42" in page
    live = html_of(replace(source, live=True), key)
    assert "step 390 loss" in live and "+    lr = 0.8" in live


def test_experiment_trackers_are_listed_with_their_commands(tmp_path: Path) -> None:
    run = write_rich(tmp_path / "train")
    for name in (f"tb {HOSTILE.replace('/', '')[:40]}/events.out.tfevents.1.node.1.0", "mlruns/0/aaa/meta.yaml"):
        (run / "source" / name).parent.mkdir(parents=True)
        (run / "source" / name).write_bytes(b"x")
    source = source_of(tmp_path / "train", live=True)
    page = html_of(source, view_of(source, run).key)
    text = Page(page).text
    assert "mlflow ui --backend-store-uri source/mlruns" in text and "tensorboard --logdir 'source/tb " in text
    assert "<script>alert" not in page
    check_structure(page)


def test_what_the_program_wrote_is_listed_and_goes_out_with_the_source_only(tmp_path: Path) -> None:
    run = write_rich(tmp_path / "train")
    for number in range(25):
        (run / f"source/plots/{number}").mkdir(parents=True)
        (run / f"source/plots/{number}/loss.png").write_bytes(b"x" * 40)
    (run / f"source/model{HOSTILE.replace('/', '')[:40]}.pth").write_bytes(b"x" * 3000)
    source = source_of(tmp_path / "train", live=True)
    view = view_of(source, run)
    assert view.written is not None and (view.written.count, view.written.size) == (26, "4.0 kB")
    assert [size for _, size in view.written.lines] == ["3.0 kB", "1.0 kB"]
    assert view.written.lines[1][0].startswith("source/plots/ (25 files")
    page = html_of(source, view.key)
    assert "source/plots/" in Page(page).text and "<script>alert" not in page
    check_structure(page)
    assert not (run / "outputs.json").exists()  # a page only looks
    site = source_of(tmp_path / "train")
    assert "source/plots/" not in html_of(site, view.key)
    assert "source/plots/" in html_of(replace(site, event=Event("E", publish=Publish(source=True))), view.key)
    summary = replace(view.summary, state="RUNNING", ended=None)
    assert view_of(replace(source, summaries=(summary,)), run).written is None


def _with(summary: Any, state: str, told: dict[str, CauseText]) -> Any:
    return replace(summary, state=state, told=told, part="nccl", ended=None if state == "RUNNING" else summary.ended)


def test_curves_and_devices_are_over_time_and_bounded(project: Path) -> None:
    first, failed, _ = runs_of(project)
    source = source_of(project, live=True)
    view = view_of(source, first)
    assert [figure.title for figure in view.progress] == ["Throughput [samples/s]", "Loss", "Accuracy"]
    assert [figure.name for figure in view.devices] == [
        f"telemetry-{each}" for each in ("utilisation", "memory", "power")
    ]
    points = view.progress[1].spec["datasets"]["points"]
    assert (
        len(points) <= POINTS
        and points[0]["y"] == pytest.approx(2.3)
        and points == sorted(points, key=lambda p: p["x"])
    )
    assert view.progress[1].spec["encoding"]["x"]["scale"]["domain"] == [0, pytest.approx(20)]
    assert view.progress[1].spec["datasets"]["end"] == []
    assert view_of(source, failed).progress[1].spec["datasets"]["end"] == [{"x": pytest.approx(20)}]
    everything = view.devices[0].spec["datasets"]
    assert len(everything["all"]) <= BUCKETS and {each["host"] for each in everything["hosts"]} == set(HOSTS[:2])
    assert all(each["least"] <= each["mean"] <= each["most"] for each in everything["all"])
    memory = view.devices[1]
    assert [line["label"] for line in memory.spec["datasets"]["capacity"]] == ["capacity 15.9"], "16280 MiB, once"
    assert memory.spec["encoding"]["y"]["scale"]["domain"][1] > 16280 / 1024 and "capacity 15.9" in memory.alt
    assert everything["capacity"] == []
    assert [(host.name, host.devices) for host in view.hosts] == [(HOSTS[0], 2), (HOSTS[1], 2)]
    assert view.kind == "gpu" and view.hosts[0].memory == pytest.approx(11680 / 1024, rel=0.02)
    assert all(figure.rows and figure.alt and len(figure.columns) == len(figure.rows[0]) for figure in view.devices)


def test_curves_of_a_run_that_goes_on_are_not_drawn_anew_with_every_line(tmp_path: Path) -> None:
    run = write_rich(tmp_path / "train", failed=True)
    source = source_of(tmp_path / "train")
    source = replace(source, summaries=tuple(_with(each, "RUNNING", {}) for each in source.summaries))
    begin = source.summaries[0].started or 0.0

    def specs(until: int) -> tuple[str, str]:
        lines = [{"t": begin + i, "step": i, "loss": 1 / (1 + i)} for i in range(until)]
        (run / "metrics/rank-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        rows = [f"{begin + i},gpu,0,{i % 100},100,50" for i in range(until)]
        for path in (run / "telemetry").iterdir():
            path.write_text("\n".join(["t,kind,index,utilisation_percent,memory_mib,power_w", *rows]) + "\n")
        view = view_of(source, run)
        return json.dumps(view.progress[0].spec), json.dumps(view.devices[0].spec)

    assert specs(302) == specs(310) != specs(320)
    assert specs(3602)[0] == specs(3620)[0] != specs(3661)[0], "an hour later by larger steps"


@pytest.mark.slow
def test_pictures_are_drawn_with_their_text(project: Path) -> None:
    pytest.importorskip("vl_convert")
    source = source_of(project)
    view = view_of(source, runs_of(project)[0], "ja")
    with speaking("ja"):
        found = values_of("run", view.key, source)
    assert found is not None and found[1]["problem"] == ""
    drawn = found[1]["view"]
    assert len(drawn.progress) == len(drawn.devices) == 3
    for figure in (*drawn.progress, *drawn.devices):
        assert figure.svg and "<svg" in figure.svg and "開始からの時間 [分]" in figure.svg


def test_a_training_of_an_hour_or_of_seconds_has_its_own_axis(tmp_path: Path) -> None:
    run = write_rich(tmp_path / "train")
    for seconds, words in ((5.0, "seconds"), (600.0, "minutes"), (8 * 3600.0, "hours")):
        final = json.loads((run / "final.json").read_text())
        begin = final["t_started"]
        lines = [{"t": begin + seconds * i / 20, "step": i, "loss": 1.0 + i} for i in range(21)]
        (run / "metrics/rank-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (run / "final.json").write_text(json.dumps({**final, "t_ended": begin + seconds}))
        figure = view_of(source_of(tmp_path / "train"), run).progress[0]
        assert words in figure.spec["encoding"]["x"]["title"] and figure.columns[0].startswith(words)


def test_what_happened_stands_in_order_with_ranks_together(project: Path) -> None:
    _, failed, _ = runs_of(project)
    line = view_of(source_of(project), failed).timeline
    assert [each.time for each in line.moments] == sorted(each.time for each in line.moments) and not line.skewed
    kinds = [(each.kind, each.who) for each in line.moments]
    for wanted in (
        ("submitted", ""),
        ("started", "ranks 0-3"),
        ("checkpoint", "rank 0"),
        ("ended", "rank 1"),
        ("ended", "ranks 0,2-3"),
    ):
        assert wanted in kinds, wanted
    assert next(each for each in line.moments if each.kind == "warned").text == "NCCL uses sockets, not InfiniBand"


def test_thousands_of_events_are_shown_in_part_and_skewed_clocks_are_told(tmp_path: Path) -> None:
    run = write_rich(tmp_path / "train")
    events = [{"t": 1e9 + i, "event": "warned", "text": f"{i}"} for i in range(5000)]
    (run / "events/rank-0.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    (run / "events/rank-1.jsonl").write_text(
        '{"t": 1000, "event": "started", "host": "a"}\n{"t": "x"}\n[]\n{"t": 1e999}\n'
    )
    line = view_of(source_of(tmp_path / "train"), run).timeline
    assert len(line.moments) == SHOWN and line.left > 4000 and line.skewed
    page = html_of(source_of(tmp_path / "train"), f"{tmp_path}/train//{run.name}")
    assert "more in between" in page and "clocks of the hosts differ" in page


def test_logs_of_many_ranks_are_few_and_the_failed_rank_is_among_them(tmp_path: Path) -> None:
    run = write_rich(tmp_path / "train", failed=True)
    for rank in range(4, 300):
        (run / f"logs/rank-{rank}.log").write_text(f"rank {rank}\n")
    (run / "logs/rank-1.log").rename(run / "logs/rank-250.log")
    view = view_of(source_of(tmp_path / "train", live=True), run)
    names = [log.name for log in view.logs]
    assert "rank-250.log" in names and "job.log" in names and len(names) == LOGS + 1
    assert view.logs_left == 299 - LOGS
    assert [log.name for log in view.logs if log.shown] == ["rank-250.log"]


def test_what_a_run_told_at_its_end_is_there_in_numbers_and_words(project: Path) -> None:
    first, failed, _ = runs_of(project)
    view = view_of(source_of(project), first)
    assert dict(view.run.metrics)["accuracy"] == 0.978 and view.texts == (("weights", DIGEST),)
    assert DIGEST in html_of(source_of(project), view.key) and view_of(source_of(project), failed).texts == ()


def test_a_run_is_not_compared_with_one_that_waits(project: Path) -> None:
    first, failed, last = runs_of(project)
    source = source_of(project)
    waiting = [replace(run, state="QUEUED") if run.id == failed.name else run for run in source.summaries]
    view = view_of(replace(source, summaries=waiting), last)
    assert view.previous is not None and view.previous.id == first.name


def test_other_runs_are_linked(project: Path) -> None:
    first, failed, last = runs_of(project)
    source = source_of(project)
    view = view_of(source, failed)
    assert view.parent is not None and view.parent.id == first.name and view.previous is None
    assert view_of(source, last).previous is not None and view_of(source, last).previous.id == failed.name  # type: ignore[union-attr]
    assert [each.id for each in view_of(source, first).children] == [failed.name]
    page = html_of(source, view.key)
    assert "compare with the parent run" in page and "the study" not in page
    assert view.comparable == () and "Compare with another run" not in page  # a site has no page of two runs
    live = source_of(project, live=True)
    assert [each.id for each in view_of(live, failed).comparable] == [last.name]
    assert "Compare with another run" in html_of(live, view.key)
    assert values_of("run", f"{project}//nothing", source) is None and values_of("run", "", source) is None


def test_request_scripts_source_and_environment_are_there(project: Path) -> None:
    text = Page(html_of(source_of(project, live=True), f"{project}//{runs_of(project)[1].name}")).text
    for wanted in (
        "parameter lr", "recipe: scaling.weak", "#PBS -q h-debug", 'exec "${HK_COMMAND[@]}"', "4f1c2a9d0be37f55",
        "+    lr = 0.8", "torch 1.10.2", "openmpi/gdr/2.1.2/gnu", "hackathon rerun", "00:15:00", f"{1:064x}",
    ):  # fmt: skip
        assert wanted in text, wanted


@pytest.mark.slow
def test_the_page_is_well_formed_in_both_languages(project: Path) -> None:
    pytest.importorskip("vl_convert")
    source = source_of(project, live=True)  # which keeps its drawings: their words are put in afterwards
    for run in runs_of(project)[:2]:
        for language in ("en", "ja"):
            page = html_of(source, f"{project}//{run.name}", language, pictures=True)
            check_structure(page)
            assert f'lang="{language}"' in page


def test_hostile_text_everywhere_is_shown_as_text(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    project = tmp_path / "<b>&\"'"
    run = write_rich(project, failed=True, note=HOSTILE, tags=(HOSTILE,))
    poison(run)
    source = source_of(project, team=HOSTILE, live=True)
    for language in ("en", "ja"):
        page = html_of(source, run_key(source.summaries[0]), language, pictures=True)
        check_structure(page)
        assert "&lt;script&gt;alert(1)" in page and "\x1b" not in page and "\u202e" not in page and "49日本" not in page
        assert page.count("alert(1)") > 15, "the hostile text did not come to the page"


def test_a_run_that_leads_outside_is_read_without_that(tmp_path: Path) -> None:
    run = write_rich(tmp_path / "train", failed=True)
    (tmp_path / "secret.log").write_text("TOP-SECRET password\n")
    (tmp_path / "secret.jsonl").write_text('{"t": 1, "event": "warned", "text": "TOP-SECRET"}\n')
    for name in ("logs/rank-2.log", "events/rank-2.jsonl", "job.sh", "source.diff", "source/train.py"):
        (run / name).unlink()
        (run / name).symlink_to(tmp_path / f"secret.{'jsonl' if 'jsonl' in name else 'log'}")
    os.mkfifo(run / "logs/rank-9.log")
    shutil.rmtree(run / "telemetry")
    (run / "telemetry").symlink_to("/dev")
    source = source_of(tmp_path / "train", live=True)
    view = view_of(source, run)
    assert set(view.refused) == {"logs/rank-2.log", "logs/rank-9.log", "events/rank-2.jsonl", "telemetry"}
    page = html_of(source, view.key)
    assert "TOP-SECRET" not in page and "logs/rank-9.log" in page and "rank-1.log" in page


@pytest.mark.slow
def test_a_half_written_or_half_deleted_run_has_a_page(tmp_path: Path) -> None:
    for number, name in enumerate(("metrics", "logs", "events", "client", "env", "telemetry", "source", "source.json")):
        run = write_rich(tmp_path / "train", number, failed=number % 2 == 0)
        source = source_of(tmp_path / "train", live=True)
        path = run / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        for rest in [each for each in run.rglob("*.json*") if number % 3 == 0]:
            rest.write_bytes(rest.read_bytes()[: rest.stat().st_size // 2])
        check_structure(html_of(source, f"{tmp_path}/train//{run.name}"))
    gone = source_of(tmp_path / "train")
    shutil.rmtree(tmp_path / "train")
    check_structure(html_of(gone, run_key(gone.summaries[0])))


def test_records_with_values_of_other_kinds_have_a_page(tmp_path: Path) -> None:
    run = write_rich(tmp_path / "train")
    for path in (run / "env").iterdir():
        path.write_text(json.dumps({"modules": 5, "interfaces": {"a": 1}, "gpus": "P100", "packages": [1]}))
    (run / "source.json").write_text('{"git": 7, "digest": [1]}')
    source = source_of(tmp_path / "train", live=True)
    view = view_of(source, run)
    assert view.run.environment == () and run.name in html_of(source, view.key)


def test_huge_logs_do_not_make_huge_pages(tmp_path: Path) -> None:
    run = write_rich(tmp_path / "train", failed=True)
    for rank in range(4):
        with (run / f"logs/rank-{rank}.log").open("wb") as stream:
            stream.truncate(200 << 20)  # a hole: no disk is used
            stream.seek(0, 2)
            stream.write(b"\n" + b"x" * (1 << 20) + b"\nthe last words\n")
    page = html_of(source_of(tmp_path / "train", live=True), f"{tmp_path}/train//{run.name}")
    assert len(page) < 2_000_000 and page.count("the last words") == 4
