"""Pages of speed-ups and profiles: what the commands kept is told in both languages, linked, published, harmless."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.config.load import load_event
from hackathon.index.catalog import Catalog
from hackathon.index.gather import gather
from hackathon.profiling.traces.stored import FACT as PROFILE
from hackathon.text.messages import speaking
from hackathon.tuning.batches import LargestBatch
from hackathon.tuning.result import FACT as SPEEDUP
from hackathon.tuning.result import SpeedupResult
from hackathon.tuning.sentences import OPTION_HEADS, option_cells
from hackathon.web.page import figures
from hackathon.web.routing.registry import values_of
from hackathon.web.site import build as making
from hackathon.web.site.publish import publish
from hackathon.web.views.profile import profile_view, step_picture
from support.pages.rendered import harmless, page, read
from support.samples.event import write_event
from support.samples.measured import keep, largest_batch, speedup_result, write_profile, write_speedup
from support.samples.runs import DEFAULT, write_study
from support.samples.source import folder_source

HOSTILE = "<script>alert(1)</script> {{7*7}} \x1b[31m"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def source(tmp_path: Path) -> Catalog:
    """A project with a study, a table of speed-ups, a largest batch, and a profile of one of the study's runs."""
    folder = tmp_path / "digits"
    write_study(folder, DEFAULT, team="")
    first = next(run for run in sorted((folder / "runs").iterdir()) if "-4p-" in run.name)
    write_speedup(folder / "runs")
    write_speedup(folder / "runs", 51, batch=True)
    write_profile(folder / "runs", tmp_path, parent=first.name)
    return folder_source([folder], tmp_path / "index.sqlite")


def _tagged(source: Catalog, tag: str) -> list[str]:
    return [f"{run.project}//{run.id}" for run in source.summaries if tag in run.tags]


def test_a_table_is_told_with_reasons_intervals_and_what_was_not_tried(source: Catalog) -> None:
    key = _tagged(source, "speedup")[1]
    english, japanese = (read(page("speedup", source, each, key)) for each in ("en", "ja"))
    for said in ("bf16", "loader workers=4", "1.42", "compute-bound: 70 % of a step", "loading takes 20 % of a step",
                 "bf16 + loader workers=4", "1.660×", "within the noise", "slower", "failed", "slots/0000/logs",
                 "fused=True", "needs a GPU: fp16, TF32", "hackathon speedup --apply", "amp=bf16"):  # fmt: skip
        assert said in english.text, said
    for said in ("計算律速（ステップの 70 %）", "データ読み込みはステップの 20 %", "誤差の範囲", "GPU が必要"):
        assert said in japanese.text, said
    assert "compute-bound" not in japanese.text


def test_a_largest_batch_is_told_with_its_starts(source: Catalog) -> None:
    reader = read(page("speedup", source, "en", _tagged(source, "speedup")[0]))
    for said in (
        "96",
        "91",
        "confirmed by a longer start",
        "out of memory",
        "8.6 GB",
        "half the batch, accumulate 2",
        "≥ 512",
        "predicted by fake tensors",
    ):
        assert said in reader.text, said


def test_a_kept_result_says_what_was_found() -> None:
    for found in (speedup_result("r"), largest_batch()):
        told = json.loads(json.dumps(found.as_json()))
        again = type(found).from_json(told)
        assert again is not None and again.as_json() == found.as_json()
    with speaking("ja"):
        other = SpeedupResult.from_json(json.loads(json.dumps(speedup_result("r").as_json())))
        assert other is not None
        assert [option_cells(row) for row in other.compared.rows] == [
            option_cells(row) for row in speedup_result("r").compared.rows
        ]


@pytest.mark.slow
def test_the_page_of_a_run_leads_to_the_profile_that_recorded_it_again(source: Catalog) -> None:
    recorded = _tagged(source, "profile")[0]
    parent = next(run.parent for run in source.summaries if "profile" in run.tags)
    of_parent = page("run", source, "en", f"{source.summaries[0].project}//{parent}")
    other = next(run for run in source.summaries if not run.tags and run.id != parent)
    assert "where the time of a step goes" in of_parent and "/profile?key=" in of_parent
    assert "/profile?key=" not in page("run", source, "en", f"{other.project}//{other.id}")
    shown = read(page("profile", source, "en", recorded))
    assert "Rank 2 is late" in shown.text and "aten::mm" in shown.text
    japanese = read(page("profile", source, "ja", recorded))
    assert "ランク 2 が遅れています" in japanese.text and "is late" not in japanese.text


def test_a_run_without_a_result_has_no_such_page(source: Catalog) -> None:
    plain = next(run for run in source.summaries if not run.tags)
    key = f"{plain.project}//{plain.id}"
    for kind in ("profile", "speedup"):
        assert values_of(kind, key, source) is None
        assert values_of(kind, "gone", source) is None
    keep(Path(plain.project) / "runs" / plain.id, SPEEDUP, speedup_result("r").as_json())  # no run of `speedup`
    assert values_of("speedup", key, source) is None


@pytest.mark.slow
def test_a_team_lists_its_measurements(source: Catalog) -> None:
    text = read(page("team", source, "en", "aurora")).text
    assert "1.66 × with amp=bf16, workers=4" in text and "largest batch 96, recommended 91" in text


@pytest.mark.slow
def test_a_site_has_these_pages_and_leads_to_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"></svg>'
    monkeypatch.setattr(figures, "pictures", lambda specs, form: [drawing for _ in specs])
    monkeypatch.setitem(making.FILES, "vega.js", lambda cache: b"// Vega")
    event = write_event(tmp_path / "event", 1)
    runs = event / "aurora" / "train" / "runs"
    best = sorted(run.name for run in runs.iterdir() if "-16p-" in run.name)
    write_speedup(runs)
    profiles = {write_profile(runs, tmp_path, 60 + n, parent=run).name for n, run in enumerate(best)}

    def published() -> dict[str, str]:
        source = gather(event, load_event(event), ask=False, index=tmp_path / "i" / "x.sqlite3", diagnose=False)
        found = publish(source, tmp_path / "out")
        assert not [each for each in found.warnings if "left out" in each]
        return {name: (found.folder / name).read_text() for name in found.files if name.endswith(".html")}

    pages = published()
    (speedup,) = (
        name for name in pages if name.startswith("speedup-") and name.endswith("p-" + name[-13:-5] + ".html")
    )
    shown = [name for name in pages if name.startswith("profile-") and ".ja." not in name]
    with_page = [name for name in pages if name.startswith("run-") and ".ja." not in name]
    assert len(shown) == len(with_page) == 2 < len(profiles)  # the best run of each study has a page
    assert f"href={speedup}>" in pages["team-aurora.html"] and "bf16" in pages[speedup]
    assert all(any(f"href={name}>" in pages[run] for run in with_page) for name in shown)
    assert "tanaka07" not in "".join(pages[name] for name in (*shown, speedup))
    before = pages[speedup]
    run = next(run for run in runs.iterdir() if (run / "client" / f"{SPEEDUP}.json").exists())
    kept = json.loads((run / "client" / f"{SPEEDUP}.json").read_text())
    (run / "client" / f"{SPEEDUP}.json").unlink()
    keep(run, SPEEDUP, {**kept, "not_tried": [{"name": "measured anew", "needs": "gpu"}]})
    after = published()[speedup]
    assert "measured anew" in after and "measured anew" not in before


def test_hostile_names_stay_text(source: Catalog) -> None:
    key = _tagged(source, "speedup")[1]
    run = Path(source.summaries[0].project) / "runs" / key.rpartition("//")[2]
    value = json.loads((run / "client" / f"{SPEEDUP}.json").read_text())
    value["options"][0] |= {"name": HOSTILE, "settings": {HOSTILE: HOSTILE}}
    value["not_tried"][0]["lines"] = HOSTILE
    keep(run, SPEEDUP, value)
    harmless(page("speedup", source, "en", key))
    key = _tagged(source, "profile")[0]
    run = Path(source.summaries[0].project) / "runs" / key.rpartition("//")[2]
    value = json.loads((run / "client" / f"{PROFILE}.json").read_text())
    value["languages"]["en"] |= {"verdict": HOSTILE, "operators": [{"name": HOSTILE, "calls": 1, "seconds": 1}]}
    value["step"]["ranks"][0]["stretches"].append([HOSTILE, 0, 1])
    keep(run, PROFILE, value)
    harmless(page("profile", source, "en", key))


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_whatever_a_run_keeps_leaves_gaps(value: object) -> None:
    told = value if isinstance(value, dict) else {"options": value, "baseline": {"value": 1, "shares": value}}
    result = SpeedupResult.from_json({"baseline": {"value": 1.0}, "options": [value, told], "together": value, **told})
    if result is not None:
        assert all(len(option_cells(row)) == len(OPTION_HEADS) for row in result.compared.rows)
        json.dumps(result.as_json(), allow_nan=True)
    largest = LargestBatch.from_json({"batch": 4, "probes": [told, value], "other_failure": value, **told})
    assert largest is None or largest.as_json()
    view = profile_view({"ranks": [told], "findings": [told], "memory_bytes": told, "gaps": value, **told}, told)
    assert view.ranks is not None
    step_picture({"seconds": 1.0, "ranks": [{"stretches": [value, ["data", 0, 1]]}], **told})
