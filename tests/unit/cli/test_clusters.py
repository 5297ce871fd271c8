"""`hackathon clusters`: its sub-verbs, the older words, and a profile beside a machine whose answers are recorded."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hackathon import schedulers
from hackathon.cli.main import run
from support import pbs

SAMPLES = Path(schedulers.__file__).parent / "slurm" / "samples"
SINFO = f"""#!/bin/sh
case "$*" in
  *-e*) cat {SAMPLES}/sinfo_nodes.txt;;
  *) cat {SAMPLES}/sinfo_queues.txt;;
esac
"""
PROFILE = """\
name: kumo
scheduler: slurm
node: {cores: 4, gpus: 1}        # as the manual says
queues:
  main: {nodes: 8, walltime: 24:00:00}
unverified: [queues.main.walltime, node.gpus]
sources: {K: {title: Memory, date: "2026-11-01", confirmed: false}}
evidence: {queues: K, node: K, scheduler: K}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project on a machine with a `sinfo` that prints what a real one printed."""
    (tmp_path / "bin").mkdir()
    commands = tmp_path / "bin" / "sinfo"
    commands.write_text(SINFO)
    commands.chmod(0o755)
    (tmp_path / "bin" / "sbatch").symlink_to("sinfo")  # by which Slurm is known to be here
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "work"
    (folder / "templates" / "clusters").mkdir(parents=True)
    (folder / "project.yaml").write_text("name: work\ncommand: python train.py\ncluster: kumo\n")
    monkeypatch.chdir(folder)
    return folder


Answer = Callable[..., tuple[int, str, str]]


@pytest.fixture
def hackathon(capsys: pytest.CaptureFixture[str]) -> Answer:
    def call(*words: str) -> tuple[int, str, str]:
        code = run(["clusters", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def profile(place: Path, text: str = PROFILE) -> Path:
    path = place / "templates" / "clusters" / "kumo.yaml"
    path.write_text(text)
    return path


def test_older_words_mean_the_verbs(place: Path, hackathon: Answer) -> None:
    profile(place)
    assert hackathon() == hackathon("list")
    assert hackathon("--json") == hackathon("list", "--json")
    assert hackathon("kumo") == hackathon("show", "kumo")
    assert hackathon("kumo", "--live") == hackathon("show", "kumo", "--live") == hackathon("--live", "kumo")
    assert hackathon("kumo", "--json", "--lang", "ja") == hackathon("show", "--json", "kumo", "--lang", "ja")
    assert hackathon("--lang", "ja") == hackathon("list", "--lang", "ja")
    assert "測定するクラスタ" in hackathon("--measure", "--lang", "ja")[2]
    code, _, err = hackathon("sho", "kumo")
    assert code == 2 and "kumo" in err


def test_values_are_shown_with_their_sources_and_days(place: Path, hackathon: Answer) -> None:
    code, out, err = hackathon("show", "miyabi-g", "--evidence")
    rows = [line.split() for line in out.splitlines()]
    assert code == 0 and ["queues.debug-g.nodes", "16", "M", "2026-09-05"] in rows
    assert any(row[:3] == ["mpi", "openmpi", "?"] and row[3] == "S" for row in rows) and "?" in err
    assert "S       2026-11-22  Scripts and notes of users (to be confirmed)" in out
    value = json.loads(hackathon("show", "miyabi-g", "--json")[1])
    found = {each["key"]: each for each in value["values"]}
    assert found["queues.debug-g.nodes"] == {
        "key": "queues.debug-g.nodes", "value": 16, "sources": ["M"], "unverified": False,
    }  # fmt: skip
    assert value["sources"]["M"]["date"] == "2026-09-05" and value["schema_version"] == 1


def test_check_of_the_file_alone_asks_nobody(place: Path, hackathon: Answer) -> None:
    path = profile(place)
    (place.parent / "bin" / "sinfo").write_text("#!/bin/sh\nexit 9\n")
    code, out, err = hackathon("check", "kumo")
    assert code == 0 and str(path) in out and "--live" in err
    value = json.loads(hackathon("check", "kumo", "--json")[1])
    assert value["unverified"] == ["queues.main.walltime", "node.gpus"]
    assert value["without_confirmed_source"] == ["scheduler", "node.cores", "queues.main.nodes"]
    profile(place, PROFILE.replace("nodes: 8", "nodes: eight"))
    code, _, err = hackathon("check", "kumo")
    assert code == 2 and "queues.main.nodes" in err


def test_check_live_prints_a_patch_after_which_nothing_differs(place: Path, hackathon: Answer) -> None:
    path = profile(place)
    code, out, err = hackathon("check", "kumo", "--live")
    assert code == 1 and "high, short" in err
    table, patch = out.split("\n\n", 1)
    verdicts = {line.split()[0]: line for line in table.splitlines()[1:]}
    assert "differs" in verdicts["queues.main.nodes"] and "confirmed" in verdicts["queues.main.walltime"]
    assert "possible" in verdicts["node.cores"] and "missing" in verdicts["node.memory"]
    subprocess.run(["patch", "-p0", "--quiet"], input=patch, text=True, check=True, cwd="/")
    assert "# as the manual says" in path.read_text()
    code, out, err = hackathon("check", "kumo", "--live")
    assert code == 0 and "differs" not in out and "agrees with the machine" in err
    value = json.loads(hackathon("check", "kumo", "--live", "--json")[1])
    assert value["patch"] == "" and value["unverified"] == [] and value["nodes"][0]["nodes"] == 4


def test_corrected_profile_is_written_to_a_new_file_only(place: Path, hackathon: Answer) -> None:
    path = profile(place)
    new = place / "new" / "kumo.yaml"
    assert hackathon("check", "kumo", "--live", "--output", str(new))[0] == 1
    assert path.read_text() == PROFILE and "gpus: 2" in new.read_text()
    code, _, err = hackathon("check", "kumo", "--live", "-o", str(new))
    assert code == 2 and "already exists" in err
    code, _, err = hackathon("check", "kumo", "-o", str(place / "other.yaml"))
    assert code == 2 and "--live" in err and not (place / "other.yaml").exists()


def test_closed_queue_is_no_difference_and_a_lost_one_is(place: Path, hackathon: Answer) -> None:
    profile(place, "name: kumo\nscheduler: slurm\nnode: {}\nqueues: {short: {nodes: 4}, gone: {}}\n")
    code, out, err = hackathon("check", "kumo", "--live")
    assert code == 1 and "closed now: short" in err and "no such queue" in out


def test_profile_of_another_machine_is_not_compared(place: Path, hackathon: Answer) -> None:
    profile(place, "name: kumo\nscheduler: slurm\nnode: {cores: 4}\nqueues: {gpu: {}}\n")
    code, out, err = hackathon("check", "kumo", "--live")
    assert (code, out) == (2, "") and "main, high, short" in err


def test_new_profile_on_pbs_agrees_with_it(place: Path, hackathon: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in pbs.environment(place.parent / "pbs").items():
        monkeypatch.setenv(name, value)
    assert hackathon("new", "kumo", "--yes", "--scheduler", "pbs")[0] == 0
    code, out, err = hackathon("check", "kumo", "--live")
    assert code == 0 and "queues.h-small.walltime" in out and "closed now: stopped, disabled" in err
    value = json.loads(hackathon("show", "kumo", "--json")[1])
    assert value["node"]["memory"] == 64 * 2**30 and "node.gpus" in value["unverified"]  # nobody said


def test_clients_of_a_scheduler_that_does_not_answer_are_passed_over(
    place: Path, hackathon: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm's clients are left over or not configured; PBS answers, and its queues put two chunks on one host."""
    for name, value in pbs.environment(place.parent / "pbs").items():
        monkeypatch.setenv(name, value)
    (place.parent / "bin" / "sinfo").write_text("#!/bin/sh\necho 'sinfo: fatal: no configuration' >&2; exit 1\n")
    code, out, err = hackathon("new", "kumo", "--yes")
    assert code == 0 and "\nscheduler: pbs\n" in out and "place: scatter" in out and "did not answer" not in err
    queues = json.loads(hackathon("show", "kumo", "--json")[1])["queues"]
    assert list(queues)[-2:] == ["stopped", "disabled"] and "closed on 20" in str(queues["stopped"])
    assert hackathon("new", "other", "--yes", "--no-ask")[0] == 0  # nobody is asked: the likeliest one


def test_scheduler_that_does_not_answer(place: Path, hackathon: Answer) -> None:
    profile(place)
    (place.parent / "bin" / "sinfo").write_text(
        "#!/bin/sh\necho 'slurm_load: Zero Bytes were transmitted' >&2; exit 1\n"
    )
    os.environ["HACKATHON_SCHEDULER_TIMEOUT"] = "20"
    try:
        assert hackathon("check", "kumo", "--live")[0] == 3
        code, out, err = hackathon("new", "soon", "--yes")
    finally:
        del os.environ["HACKATHON_SCHEDULER_TIMEOUT"]
    assert code == 0 and "did not answer" in err and "  - queues\n" in out


def test_nodes_that_nobody_is_told_of_are_not_known(place: Path, hackathon: Answer) -> None:
    profile(place)
    (place.parent / "bin" / "sinfo").write_text(
        f'#!/bin/sh\ncase "$*" in *-e*) echo "not for you" >&2; exit 1;; esac\ncat {SAMPLES}/sinfo_queues.txt\n'
    )
    code, out, err = hackathon("check", "kumo", "--live")
    assert code == 1 and "node." not in out.split("\n\n")[0] and "not for you" in err


def test_profile_of_any_machine_has_nothing_to_compare(place: Path, hackathon: Answer) -> None:
    code, _, err = hackathon("check", "laptop", "--live")
    assert code == 2 and "nothing to compare" in err
    assert hackathon("check", "laptop")[0] == 0


def test_new_profile_is_made_without_questions(place: Path, hackathon: Answer) -> None:
    code, out, err = hackathon("new", "aurora", "--yes", "--title", "Aurora", "--dialect", "group=account")
    path = place / "templates" / "clusters" / "aurora.yaml"
    assert code == 0 and path.read_text() == out and str(path) in err
    value: dict[str, Any] = json.loads(hackathon("show", "aurora", "--json")[1])
    assert value["queues"]["high"]["nodes"] == 2 and value["node"]["gpus"] == 2 and value["title"] == "Aurora"
    assert "dialect.group" not in value["unverified"] and "starter" in value["unverified"]
    assert hackathon("check", "aurora", "--live")[0] == 0
    code, _, err = hackathon("new", "aurora", "--yes")
    assert code == 2 and "already exists" in err and path.read_text() == out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("new", "check", "--yes"), "sub-verb"),
        (("new", "../x", "--yes"), "/"),
        (("new", "x", "--yes", "--dialect", "grup=account"), "dialect.grup"),
        (("new", "x", "--yes", "--starter", "mpiexec"), "starter"),
        (("new", "x", "--yes", "--scheduler", "slrm"), "slurm"),
    ],
)
def test_wrong_new_profile_leaves_nothing(place: Path, hackathon: Answer, words: tuple[str, ...], told: str) -> None:
    code, _, err = hackathon(*words)
    assert code == 2 and told in err
    assert list((place / "templates" / "clusters").iterdir()) == []


def test_questions_are_asked_on_a_terminal_and_unknown_answers_are_marked(
    place: Path, hackathon: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(["slurm", "Aurora", "account", "?", "srun", ". /etc/profile", "module load cuda", ""])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: next(lines))
    code, _, _ = hackathon("new", "aurora")
    assert code == 0 and next(lines, None) is None
    value = json.loads(hackathon("show", "aurora", "--json")[1])
    assert value["environment"] == [". /etc/profile", "module load cuda"] and value["dialect"]["group"] == "account"
    assert value["unverified"] == ["node.cores", "processes_per_node"]
    assert value["dialect"]["gpu_request"] == "gres", "the scheduler counts GPUs: nobody is asked"
