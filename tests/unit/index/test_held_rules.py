"""Rules are made once for many diagnoses, read again when their files may have changed, and hold no thread up."""

import threading
from pathlib import Path

import pytest

from hackathon.index import held_rules
from hackathon.index.held_rules import HeldRules

OWN = """rules:
- id: own
  part: gpu
  level: root
  title: {en: Own, ja: 独自}
  patterns: [{text: our own failure}]
"""


def test_folders_with_the_same_rules_share_them_and_changes_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldRules()
    shipped = held.of([])
    assert held.of([]) is shipped and held.of([tmp_path]) is shipped, "no rules of its own"
    (tmp_path / "templates" / "rules").mkdir(parents=True)
    (tmp_path / "templates" / "rules" / "own.yaml").write_text(OWN)
    assert held.of([tmp_path]) is shipped, "not looked at again so soon"
    monkeypatch.setattr(held_rules, "AGE", -1.0)
    assert {each.id for each in held.of([tmp_path])} - {each.id for each in shipped} == {"own"}
    assert held.of([]) is shipped


def test_a_thread_that_does_not_end_holds_no_other_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_rules, "TURN", 0.0)
    held, inside, over = HeldRules(), threading.Event(), threading.Event()

    def hang() -> None:
        with held.used([]):
            inside.set()
            over.wait()

    thread = threading.Thread(target=hang)
    thread.start()
    inside.wait()
    with held.used([]) as rules:
        assert rules is None
    over.set()
    thread.join()
    with held.used([]) as rules:
        assert rules
