"""A line that a tutor recognised becomes a rule that finds the same failure elsewhere, and nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.cli.main import run as command
from hackathon.config.rule_files import load_rule_file
from hackathon.diagnosis import diagnose
from hackathon.diagnosis.scan import Scanner
from hackathon.diagnosis.teach import TaughtLine, make_rule, pattern_of, try_rule
from hackathon.logs.prefixes import read_prefix
from hackathon.text.errors import RequestError
from support.patience import STRETCH

SECRET = "q7Xz" + "9mK2pL4vB8nR1tY6wE3s"
LINE = "[rank1]: LatticeError: plaquette 17 drifted by 0.25 on node7, see /scratch/alice/run-3/core.99"
OTHER = "[1,4]<stderr>:LatticeError: plaquette 4 drifted by 1.5e-3 on n12, see /work/b/x.core"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One cache for all tests: the shipped rules are checked once."""
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def event(tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an event, with a log of a failure."""
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("USER", "alice")
    (tmp_path / "hackathon.yaml").write_text("name: demo\n")
    (tmp_path / "bad.log").write_text(f"step 1\nstep 2\n{LINE}\n[rank1]: bye\n")
    (tmp_path / "good.log").write_text("step 1\nstep 2\nall done\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_line_becomes_a_rule_that_finds_the_failure_elsewhere(
    event: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["rules", "add", "--from", "bad.log:3", "--advice", "Use {the} older lattice.", "--healthy", "good.log"]
    assert command(arguments) == 0
    shown = capsys.readouterr()
    path = event / "templates" / "rules" / "event.yaml"
    assert str(path) in shown.err and "LatticeError" in shown.out
    (rule,) = load_rule_file(path)
    assert (rule.id, rule.part, rule.level) == ("latticeerror-plaquette-drifted-node-see", "framework", "root")
    assert rule.sample is not None and "alice" not in rule.sample.text and "bad.log:3" in rule.sample.source
    assert rule.advice == "Use (the) older lattice."
    assert Scanner([rule]).scan_text(OTHER) and not Scanner([rule]).scan_text("LatticeError: plaquette lost")
    (event / "elsewhere.log").write_text(f"x\n{OTHER}\n")
    (finding,) = diagnose([event / "elsewhere.log"], folders=[event])
    assert (finding.rule, finding.level, finding.evidence and finding.evidence.rank) == (rule.id, "root", 4)
    assert command(["rules", "check", str(path)]) == 0
    capsys.readouterr()
    assert command(arguments) == 2
    assert rule.id in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "options", "word"),
    [
        ("Traceback (most recent call last):", [], "too much"),
        ("step 100 of 200", [], "too much"),
        ("slurmstepd: error: task 3 exited with exit code 1", [], "too much"),
        ("/a/b/c/d: 0x12345 12 13", [], "too much"),
        ("checkpoint of lattice 3 written", ["--healthy", "good.log"], "good.log:2"),
        ("", [], "empty"),
        ("unknown quark found", ["--part", "nonsense"], "nonsense"),
        ("unknown quark found", ["--healthy", "missing.log"], "missing.log"),
    ],
)
def test_what_is_too_general_or_hits_a_healthy_log_is_refused(
    event: Path, line: str, options: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (event / "bad.log").write_text(f"start\n{line}\nend\n")
    (event / "good.log").write_text("start\ncheckpoint of lattice 7 written\nend\n")
    assert command(["rules", "add", "--from", "bad.log:2", *options]) == 2
    assert word in capsys.readouterr().err
    assert not (event / "templates").exists() or not list((event / "templates" / "rules").glob("*.yaml"))


def test_what_the_log_always_says_is_refused(event: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (event / "bad.log").write_text("".join(f"finished epoch number {i} of training\n" for i in range(50)))
    assert command(["rules", "add", "--from", "bad.log:7"]) == 2
    assert "50" in capsys.readouterr().err


@pytest.mark.parametrize("origin", ["bad.log", "bad.log:0", "bad.log:x", "missing.log:1", "bad.log:99"])
def test_a_line_that_is_not_there_is_told(event: Path, origin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["rules", "add", "--from", origin]) == 2
    assert origin.split(":")[0] in capsys.readouterr().err


def test_outside_of_an_event_the_user_may_keep_it(
    event: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(event / "config"))
    (event / "hackathon.yaml").unlink()
    assert command(["rules", "add", "--from", "bad.log:3"]) == 2
    assert "--here" in capsys.readouterr().err
    assert command(["rules", "add", "--from", "bad.log:3", "--here", "user", "--part", "mpi", "--level", "likely"]) == 0
    (rule,) = load_rule_file(event / "config" / "hackathon" / "rules" / "event.yaml")
    assert (rule.part, rule.level) == ("mpi", "likely")


def test_a_file_in_another_style_is_kept_and_a_broken_one_is_not_touched(event: Path) -> None:
    path = event / "templates" / "rules" / "event.yaml"
    path.parent.mkdir(parents=True)
    mine = "# ours\nrules:\n# first\n- id: ours\n  part: mpi\n  level: root\n  title: x\n"
    mine += "  patterns:\n  - text: words of ours"
    path.write_text(mine)
    assert command(["rules", "add", "--from", "bad.log:3"]) == 0
    assert path.read_text().startswith(mine) and len(load_rule_file(path)) == 2
    assert load_rule_file(path)[0].id == "ours"
    path.write_text("rules: [")
    assert command(["rules", "add", "--from", "bad.log:3"]) == 2
    assert path.read_text() == "rules: [" and [each.name for each in path.parent.glob("*.yaml")] == ["event.yaml"]


@pytest.mark.slow
def test_tutors_who_add_at_the_same_time_lose_nothing(event: Path) -> None:
    words = ["alpha", "beta", "gamma"]
    (event / "bad.log").write_text("".join(f"QuirkError: the {word} sector is unstable here\n" for word in words))
    script = "import sys; from hackathon.cli.main import run; sys.exit(run(sys.argv[1:]))"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, "rules", "add", "--from", f"bad.log:{number}"],
            cwd=event,
            stdout=subprocess.DEVNULL,
        )
        for number in range(1, len(words) + 1)
    ]
    assert [process.wait(300 * STRETCH) for process in running] == [0] * len(words)
    path = event / "templates" / "rules" / "event.yaml"
    found = {word for rule in load_rule_file(path) for word in words if f"-{word}-" in rule.id}
    assert found == set(words)
    assert {each.name for each in path.parent.iterdir()} == {"event.yaml", ".event.yaml.lock"}


def test_secrets_and_names_stay_out_of_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "alice")
    text = f"login of alice@node3 refused by portal: token={SECRET} was not accepted"
    place = TaughtLine(Path("x.log"), 1, read_prefix(text), text, 1)
    rule = make_rule(place, [], hosts=["node3"])
    assert "q7Xz" not in repr(rule) and "alice" not in repr(rule)
    assert Scanner([rule]).scan_text("login of bob@n9 refused by portal: token=abc was not accepted")


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("RuntimeError: shape [3, 4] is invalid for input of size 7",
         "RuntimeError: shape [12, 1] is invalid for input of size 9"),
        ("fi_domain() failed for mlx5_0: -61", "fi_domain() failed for mlx5_12: -12"),
        ("at 0x7f12ab34: assertion `queue->head' broken", "at 0x55: assertion `queue->head' broken"),
        ("cannot reach 10.0.0.1:4711 from here", "cannot reach 192.168.7.12:80 from here"),
        ("lost 3.5 % of all packets", "lost 12 % of all  packets"),
    ],
)  # fmt: skip
def test_what_varies_may_be_other(text: str, other: str) -> None:
    assert re.search(pattern_of(text), other)


@given(st.text(max_size=400))
def test_a_pattern_finds_its_own_line_or_is_refused(text: str) -> None:
    line = " ".join(text.split())
    try:
        rule = make_rule(TaughtLine(Path("x.log"), 1, read_prefix(line), line, 1), [])
    except RequestError:
        return
    assert re.search(rule.patterns[0].regex, read_prefix(line).text)


def test_a_rule_that_misses_its_line_is_refused(event: Path) -> None:
    place = TaughtLine(event / "bad.log", 1, read_prefix("words that are elsewhere"), "words that are not here", 4)
    with pytest.raises(RequestError) as caught:
        try_rule(make_rule(place, []), place)
    assert caught.value.id == "rules.add_misses"


def test_where_the_file_is_somebody_elses_the_rule_gets_an_own_one(
    event: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (event / "more.log").write_text("LatticeError: boundary lost its colour\n")
    assert command(["rules", "add", "--from", "bad.log:3"]) == 0
    folder = event / "templates" / "rules"
    folder.chmod(0o1777)
    # for this module alone: whose the event is has to stay true
    names = {**vars(os), "geteuid": lambda: 54321}
    monkeypatch.setattr("hackathon.diagnosis.teach.os", SimpleNamespace(**names))
    assert command(["rules", "add", "--from", "more.log:1"]) == 0
    (rule,) = load_rule_file(folder / "event-54321.yaml")
    assert rule.id == "latticeerror-boundary-lost-its-colour" and len(load_rule_file(folder / "event.yaml")) == 1
