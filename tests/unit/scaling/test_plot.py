"""Pictures show what the table says, in both languages, and a crash of their engine harms nothing."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hackathon.scaling import plot
from hackathon.scaling.caption import caption, caption_file
from hackathon.scaling.plot import panel, plot_spec, plot_study, write_plot
from hackathon.scaling.show import render
from hackathon.scaling.table import RunResult, results
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.messages import set_language


@pytest.fixture
def study() -> dict[str, Any]:
    runs = [
        RunResult(f"r{p}{k}", "1", p, 1, "SUCCEEDED", value=p * 100 - 9 * p * p + k) for p in (1, 2, 4) for k in (0, 4)
    ]
    runs.append(RunResult("r8", "1", 8, 2, "TIMEOUT", reason="walltime"))
    return results("digits-1", "weak", "samples_per_s", "samples/s", runs)


@pytest.fixture(autouse=True)
def _language() -> Iterator[None]:
    set_language("en")
    yield
    set_language(None)


def test_specification_has_all_points_repeats_and_failures(study: dict[str, Any]) -> None:
    sets = plot_spec(study)["datasets"]
    assert [(row["processes"], row["speedup"]) for row in sets["points"]] == [
        (point["processes"], point["speedup"]) for point in study["points"] if point["speedup"]
    ]
    assert len(sets["repeats"]) == 6
    assert sets["failed"] == [{"processes": 8, "label": "TIMEOUT"}]
    assert all(row["target"] == pytest.approx(0.75 * row["linear"]) for row in sets["reference"])
    assert "message:" not in json.dumps(plot_spec(study)) and "fill:" not in json.dumps(plot_spec(study))


def test_repeats_of_times_lie_the_other_way_round() -> None:
    runs = [RunResult(f"r{v}", "1", 1, 1, "SUCCEEDED", value=v) for v in (8.0, 10.0, 16.0)]
    sets = plot_spec(results("s", "strong", "epoch", "s", runs))["datasets"]
    assert [row["speedup"] for row in sets["repeats"]] == pytest.approx([1.25, 1.0, 0.625])


@pytest.mark.parametrize(
    "runs", [[], [RunResult("a", None, 4, 1, "FAILED")], [RunResult("a", "1", 3, 1, "SUCCEEDED", value=1.0)]]
)
def test_a_study_with_little_in_it_is_drawn(tmp_path: Path, runs: list[RunResult]) -> None:
    pytest.importorskip("vl_convert")
    write_plot(plot_spec(results("s", "weak", "m", "", runs)), tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_text().startswith("<svg")


@pytest.mark.slow
def test_japanese_stays_text_in_svg(tmp_path: Path, study: dict[str, Any]) -> None:
    pytest.importorskip("vl_convert")
    set_language("ja")
    assert plot_study(study, tmp_path / "plot.svg", title="手書き数字 <b>&") == []
    text = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    for word in (
        "手書き数字 &lt;b&gt;&amp;",
        "並列効率",
        "プロセス数",
        "時間切れ",
        "Noto Sans CJK JP",
        "Hiragino Sans",
        "IPAexGothic",
    ):
        assert word in text


@pytest.mark.slow
def test_png_is_written_whole_and_at_twice_the_size(tmp_path: Path, study: dict[str, Any]) -> None:
    pytest.importorskip("vl_convert")
    plot_study(study, tmp_path / "plot.png")
    data = (tmp_path / "plot.png").read_bytes()
    assert data.startswith(b"\x89PNG") and struct.unpack(">I", data[16:20])[0] > 1400
    assert [path.name for path in tmp_path.iterdir()] == ["plot.png"]


def test_pdf_for_a_paper_and_its_caption(tmp_path: Path, study: dict[str, Any]) -> None:
    pytest.importorskip("vl_convert")
    plot_study(study, tmp_path / "plot.pdf")
    assert (tmp_path / "plot.pdf").read_bytes().startswith(b"%PDF")
    assert caption_file(tmp_path / "a.b.pdf") == tmp_path / "a.b.caption.md"
    doubt = {
        "id": "noise",
        "message": "the repeats *differ*",
        "evidence": "logs/rank-0.log:3",
        "values": {},
        "severity": "check",
    }
    series = study["series"][0] if "series" in study else study
    series["points"][1]["doubts"] = [doubt]
    for language, words in {
        "en": ("weak scaling", "n = 2; 2 processes: n = 2", "8 processes: n = 0 (TIMEOUT: 1)", "Machine: not known",
               "- 2 processes: to be checked: the repeats \\*differ\\* (logs/rank-0.log:3)"),
        "ja": ("弱スケーリング", "2 プロセス: n = 2", "8 プロセス: n = 0 (", "計算機: 不明", "- 2 プロセス: "),
    }.items():  # fmt: skip
        set_language(language)
        text = caption(study, [])
        assert [word for word in words if word not in text] == [], text
        assert "samples\\_per\\_s" in text or "samples_per_s" in text
    set_language("en")
    series["points"][1]["doubts"] = []
    text = caption(study, ["lab (P100)"])
    assert "Doubts: none were found" in text and "Machine: lab (P100)" in text and "\n\n\n" not in text


def test_without_japanese_font_png_is_english_and_says_so(
    tmp_path: Path, study: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    monkeypatch.setattr(plot, "has_japanese", lambda: False)
    monkeypatch.setattr(plot, "pictures", lambda specs, form: drawn.extend(specs) or [b"x"])
    set_language("ja")
    warnings = plot_study({**study, "metric": "速さ"}, tmp_path / "plot.png", title="題名")
    assert len(warnings) == 2 and "英語" in warnings[0] and "題名" in warnings[1]
    text = json.dumps({key: value for key, value in drawn[0].items() if key != "config"}, ensure_ascii=False)
    assert "Speed-up" in text and all(ord(letter) < 0x2E80 for letter in text)
    assert plot_study(study, tmp_path / "plot.svg", title="題名") == []
    assert "題名" in json.dumps(drawn[1], ensure_ascii=False)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("import time; time.sleep(60)", "longer than 1 s"),
        ("print('garbage')", "exit 0"),
        ("import sys; sys.exit('engine says no\\x1b[31m')", "engine says no"),
    ],
)
def test_a_dying_engine_is_an_error_and_the_table_still_comes(
    tmp_path: Path, study: dict[str, Any], monkeypatch: pytest.MonkeyPatch, program: str, said: str
) -> None:
    (tmp_path / "draw.py").write_text(program)
    monkeypatch.setattr(plot, "PROGRAM", tmp_path / "draw.py")
    monkeypatch.setattr(plot, "SECONDS", 1.0 if "sleep" in program else 60.0)
    with pytest.raises(HackathonError) as caught:
        write_plot(plot_spec(study), tmp_path / "plot.svg")
    assert said in caught.value.message and "\x1b" not in caught.value.message and caught.value.hint
    assert not (tmp_path / "plot.svg").exists()
    assert "TIMEOUT" in render(study)


def test_missing_library_names_the_extra(
    tmp_path: Path, study: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "draw.py"
    program.write_text(f"import sys; sys.modules['vl_convert'] = None\nexec(open({str(plot.PROGRAM)!r}).read())\n")
    monkeypatch.setattr(plot, "PROGRAM", program)
    with pytest.raises(UnavailableError) as caught:
        write_plot(plot_spec(study), tmp_path / "plot.svg")
    assert caught.value.exit_code == 3 and caught.value.hint is not None and "vl-convert-python" in caught.value.hint


@pytest.mark.slow
def test_a_users_module_does_not_shadow_the_library(
    tmp_path: Path, study: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vl_convert")
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.chdir(tmp_path)
    write_plot(panel(plot_spec(study), "efficiency"), tmp_path / "plot.svg")
    assert "Parallel efficiency" in (tmp_path / "plot.svg").read_text()


def test_nothing_is_fetched(tmp_path: Path, study: dict[str, Any]) -> None:
    pytest.importorskip("vl_convert")
    template = tmp_path / "own.vl.json"
    template.write_text('{"data": {"url": "http://127.0.0.1:9/x.json"}, "mark": "point", "encoding": {}}')
    with pytest.raises(HackathonError):
        write_plot(plot_spec(study, template=template), tmp_path / "plot.svg")


def test_other_suffixes_and_bad_templates_are_refused(tmp_path: Path, study: dict[str, Any]) -> None:
    with pytest.raises(RequestError):
        write_plot(plot_spec(study), tmp_path / "plot.eps")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(HackathonError, match=r"bad\.json"):
        plot_spec(study, template=tmp_path / "bad.json")
