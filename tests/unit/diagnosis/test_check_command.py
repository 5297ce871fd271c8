"""Advice to paste: bash is given what a diagnosis prints, and nothing that stood in a log runs."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.cli.main import run as hackathon
from hackathon.config import rule_files
from hackathon.diagnosis.check_command import check_command, every_form, misplaced, quoted_in_commands
from hackathon.text.paths import shipped
from support.patience import STRETCH
from support.runs import new_run

CHECKS = [form for path in sorted(shipped("templates", "rules").glob("*.yaml"))
          for rule in rule_files.load_rule_file(path) for cause in rule.causes if "{" in cause.check
          for form in every_form(cause.check) if "{" in form]  # fmt: skip
TEXTS = [text for path in sorted(shipped("templates", "rules").glob("*.yaml"))
         for rule in rule_files.load_rule_file(path)
         for each in (rule.advice, rule.title, *(cause.text for cause in rule.causes))
         for text in (each.values() if isinstance(each, dict) else [each])
         if "hackathon " in str(text) or "`" in str(text)]  # fmt: skip
NAMES = tuple(sorted({name for check in CHECKS for name in re.findall(r"\{(\w+)\}", check)}))
"""The placeholders of all shipped checks."""
HOSTILE = [
    "$(touch MARK)", "`touch MARK`", "'; touch MARK; '", '"; touch MARK; "', "x\ntouch MARK", "x; touch MARK",
    "| touch MARK", "&& touch MARK", "-oProxyCommand=touch MARK", "> MARK", "x' $(touch MARK) 'y", "\\'; touch MARK #",
    "${IFS}", "{a,b}", "/data/x$(touch MARK)/y", "!touch MARK", "*", "~", "\x1b[2J", "\x00", "日本語 $(touch MARK)",
    "'\"'\"'; touch MARK",
]  # fmt: skip
PIECES = [
    "touch MARK",
    "$(",
    ")",
    "`",
    "'",
    '"',
    ";",
    "|",
    "&",
    ">",
    "<",
    "\\",
    "\n",
    "#",
    "{",
    "}",
    "-",
    " ",
    "a",
    "\t",
]
hostile = st.one_of(
    st.sampled_from(HOSTILE), st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=20)
)


def pasted(command: str, folder: Path) -> None:
    """Let bash run a command in an empty folder, where every command that it names does nothing."""
    known = ("ls", "namei", "python", "which", "ssh", "hackathon", "scontrol", "grep", "qstat", "dmesg", "uptime",
             "tail", "lscpu", "df", "pwd", "top", "sacct")  # fmt: skip
    nothing = "".join(f"{name}() {{ :; }}\n" for name in known)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    raw = os.fsencode(nothing + command) if "\0" not in command else b"false"
    done = subprocess.run(
        ["bash", "-c", raw], cwd=folder, env=environment, capture_output=True, check=False, timeout=STRETCH * 60
    )
    assert not list(folder.iterdir()), command
    assert b"syntax error" not in done.stderr and b"unexpected EOF" not in done.stderr, command


@settings(max_examples=40)
@given(st.sampled_from(CHECKS), hostile, hostile)
def test_a_filled_check_runs_nothing_of_the_log(
    tmp_path_factory: pytest.TempPathFactory, check: str, first: str, second: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "empty"
    folder.mkdir(exist_ok=True)
    pasted(check_command(check, {name: first if at % 2 else second for at, name in enumerate(NAMES)}), folder)


@pytest.mark.parametrize("value", HOSTILE)
def test_each_shipped_check_with_each_hostile_value(tmp_path: Path, value: str) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    pasted("\n".join(check_command(check, dict.fromkeys(NAMES, value)) for check in CHECKS), folder)


def test_no_shipped_check_has_a_placeholder_in_quotes_or_a_substitution() -> None:
    assert len(CHECKS) > 15
    assert [(check, misplaced(check)) for check in CHECKS if misplaced(check)] == []
    for check in CHECKS:  # and plain values stand there as they are
        assert check_command(check, dict.fromkeys(NAMES, "n1"))


UNSAFE = [
    'ls "{x}"', "ls '{x}'", 'ls "$(dirname {x})"', "ls $(dirname {x})", "ls `dirname {x}`", "{x} --version", "a; {x}",
    "A=1 {x}", "A={x} ls", "ls ${x}", "ls a{x}", "ls {x}/..", "bash -c {x}", "eval ls {x}", "ssh {host} ls {x}",
    "echo > {x}", "ls <({x})", "( ls {x} )", "ls # {x}", "cat <<E {x}", "ls \\{x}", "python -c {x}", "xargs {x}",
    "sudo ls {x}", "find . -exec {x}", "if {x}; then ls; fi",
]  # fmt: skip


def test_a_check_that_no_quoting_makes_safe_is_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.yaml"
    text = "rules:\n"
    for number, check in enumerate(UNSAFE):
        assert "x" in misplaced(check) and check_command(check, {"x": "plain", "host": "n1"}) == "", check
        text += (
            f"  - id: own-rule-{number}\n    part: data\n    level: root\n    title: t\n    patterns:\n"
            f"      - regex: 'no such thing as number {number} (?P<x>.+) on (?P<host>.+)'\n    causes:\n"
            f"      - text: c\n        check: {json.dumps(check)}\n"
        )
    file.write_text(text)
    assert hackathon(["rules", "check", str(file)]) == 2
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count("as a word of its own") == len(UNSAFE)


def test_unknown_and_odd_values_leave_the_check_out() -> None:
    for value in ("?", "", "-rf", "a\nb", "a\x1bb", "x" * 1001):
        assert check_command("ls -l {path}; pwd", {"path": value}) == ""
    assert check_command("ls -l {path}; pwd", {"path": "/data/it's 1"}) == """ls -l '/data/it'"'"'s 1'; pwd"""
    assert check_command("ssh {host} uptime", {"host": "node1"}) == "ssh node1 uptime"
    assert check_command("ssh {host} uptime", {"host": "a b"}) == ""
    assert check_command("df -h ${TMPDIR:-/tmp}", {}) == "df -h ${TMPDIR:-/tmp}"


def test_prose_quotes_what_stands_in_a_command() -> None:
    values = {"run": "a b", "host": "a b", "n": "3", "path": "/x$(id)"}
    filled = quoted_in_commands("See {host}: hackathon rerun {run} --n {n}, or `ls {path}`, on {host}", values)
    assert filled == "See a b: hackathon rerun 'a b' --n 3, or `ls '/x$(id)'`, on a b"
    assert quoted_in_commands("hackathon logs {run} --rank {rank}。ランク {rank}", {"run": "k"}) == (
        "hackathon logs k --rank ?。ランク ?"
    )
    for text in TEXTS:  # every command in the shipped texts is found
        for value in ("$(touch MARK)", "a;b"):
            filled = quoted_in_commands(str(text), dict.fromkeys(("run", "cluster", "path", "rank", "queue"), value))
            for part in filled.split("hackathon ")[1:]:
                command = part.split("`")[0]
                assert value not in command.split(",")[0].replace(f"'{value}'", "") or " が" in command, filled


def test_a_diagnosed_log_with_a_command_for_a_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = new_run(tmp_path)
    (run.path / "logs").mkdir(exist_ok=True)
    (run.path / "logs" / "rank-0.log").write_text(
        "Traceback (most recent call last):\nFileNotFoundError: [Errno 2] No such file or directory: "
        "'/data/x$(touch MARK)'\n"
    )
    hackathon(["diagnose", str(run.path / "logs" / "rank-0.log"), "--json"])
    told = json.loads(capsys.readouterr().out)
    checks = [cause["check"] for finding in told["findings"] for cause in finding["causes"] if cause["check"]]
    assert any("'/data/x$(touch MARK)'" in check for check in checks), checks
    folder = tmp_path / "empty"
    folder.mkdir()
    for check in checks:
        if "MARK" in check:
            pasted(check, folder)
