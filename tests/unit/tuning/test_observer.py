"""The observer of a start never disturbs the program, whatever becomes of its own files."""

import json
from pathlib import Path
from typing import Any

from hackathon.tuning.observer import Observer


class Broken:
    """Notes nothing, and cannot be ended."""

    kept = 0

    def end(self) -> None:
        raise ValueError("odd")


def test_a_step_raises_nothing_when_the_answer_cannot_be_written(tmp_path: Path) -> None:
    found: Any = Observer(tmp_path, 8)
    found.note = lambda *words: 1 / 0
    (tmp_path / "observe").write_text(json.dumps({"limit": 2, "memory": 1}))
    full = tmp_path / ".predicted.json"
    full.mkdir()  # as on a full disk: writing is an OSError
    for _ in range(4):
        found.stepped(None)
    assert found.state == "failed" and not (tmp_path / "predicted.json").exists()
    full.rmdir()
    found.stepped(None)
    answer = json.loads((tmp_path / "predicted.json").read_text())
    assert answer["text"] == "ZeroDivisionError: division by zero" and found.state == "over"


def test_a_step_raises_nothing_when_noting_cannot_end(tmp_path: Path) -> None:
    found: Any = Observer(tmp_path, 8)
    found.steps, found.noting = 1, Broken()
    found.stepped(None)
    assert found.state == "failed" and str(found.problem) == "odd" and (tmp_path / "noted").exists()


def test_the_end_of_the_program_raises_nothing_when_the_noise_cannot_be_written(tmp_path: Path) -> None:
    found: Any = Observer(tmp_path, 8)
    found.state = "collecting"
    (tmp_path / ".noise.json").mkdir()
    found.leave()
    assert found.state == "over"
