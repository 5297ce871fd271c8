"""Real accounts: a team that takes another's runs, patterns and rules that never end, and a shell with umask 000."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from hackathon.logs.pattern_reader import SECONDS
from support.accounts import public_folder as public_folder
from support.accounts import python_for_others, trust_event
from support.patience import STRETCH
from support.samples.runs import one_run

TUTOR, ALPHA, BETA = 64021, 64022, 64023
UIDS = {"tutor": TUTOR, "alpha": ALPHA, "beta": BETA}


def owned(folder: Path, uid: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, uid, uid, follow_symlinks=False)


@pytest.fixture
def event(public_folder: Path) -> Path:
    """An event of the tutor's with two teams, each with a run of its own, in folders of three accounts."""
    python_for_others()  # or skip: only root gives folders away
    folder = public_folder / "event"
    folder.mkdir()
    teams = [{"name": name} for name in ("alpha", "beta")]
    (folder / "hackathon.yaml").write_text(json.dumps({"title": "x", "teams": teams}))
    for number, team in enumerate(("alpha", "beta")):
        run = one_run(folder / team / "train", number=number)
        request = json.loads((run / "request.json").read_text())
        (run / "request.json").write_text(json.dumps({**request, "team": team}))
        owned(folder / team, UIDS[team])
    (public_folder / "tutor").mkdir(mode=0o700)
    for path in (folder, folder / "hackathon.yaml", public_folder / "tutor"):
        os.chown(path, TUTOR, TUTOR)
    return folder


def call(
    event: Path, who: str, *words: str, folder: str = ".", mask: int = 0o022
) -> "subprocess.CompletedProcess[str]":
    python, packages = python_for_others()
    home = event.parent / "tutor" if who == "tutor" else event / who
    environment = {
        "HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1",
        "HACKATHON_LANG": "en", "HACKATHON_LOCAL_DIR": str(home / "local"),
        "HACKATHON_LOCAL_SLOTS_DIR": str(home / "slots"),
    }  # fmt: skip
    options: dict[str, Any] = {"user": UIDS[who], "group": UIDS[who], "extra_groups": [], "umask": mask}
    return subprocess.run(
        [python, *words], cwd=event / folder, env=environment, capture_output=True, text=True, timeout=STRETCH * 120,
        stdin=subprocess.DEVNULL, check=False, **options,
    )  # fmt: skip


SHOWN = """
import json
from pathlib import Path
from hackathon.config.load import load_event
from hackathon.index.gather import gather
found = gather(Path.cwd(), load_event(Path.cwd()), ask=False, diagnose=False)
print(json.dumps([[[each.team, each.id] for each in found.entries], list(found.problems)]))
"""


def shown(event: Path) -> tuple[list[list[str]], str]:
    """Return [team, id] of each run as the tutor's report has them, and what it said beside."""
    done = call(event, "tutor", "-c", SHOWN)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    runs, problems = json.loads(done.stdout)
    return sorted(runs), "\n".join(problems)


@pytest.mark.slow
def test_a_link_gives_no_team_the_runs_of_another(event: Path) -> None:
    right, _ = shown(event)
    assert [team for team, _ in right] == ["alpha", "beta"]
    alpha = next(identifier for team, identifier in right if team == "alpha")
    for link, target in (("mine", "../alpha/train"), (f"train/runs/{alpha}", f"../../../alpha/train/runs/{alpha}")):
        path = event / "beta" / link
        path.symlink_to(target)
        os.chown(path, BETA, BETA, follow_symlinks=False)
        found, said = shown(event)
        assert found == right
        assert str(path) in said


@pytest.mark.slow
def test_patterns_and_rules_of_one_team_cost_nobody_else(event: Path) -> None:
    """`a*a*a*a*b` over a long line of `a`, and a pipe in the place of a rule file."""
    run = next((event / "beta" / "train" / "runs").glob("2*"))
    request = json.loads((run / "request.json").read_text())
    metrics = {"samples_per_s": {"pattern": "a*a*a*a*b([0-9.]+)", "unit": "samples/s"}}
    (run / "request.json").write_text(json.dumps({**request, "recipe": None, "metrics": metrics}))
    for path in (*run.glob("metrics/*"), *run.glob("final.json")):
        path.unlink()
    for path in run.glob("logs/rank-*.log"):
        path.write_text(("a" * 4000 + "\n") * 20)
    rules = event / "beta" / "train" / "templates" / "rules"
    rules.mkdir(parents=True)
    os.mkfifo(rules / "ours.yaml", 0o644)
    owned(event / "beta", BETA)
    began = time.monotonic()
    found, _ = shown(event)
    assert [team for team, _ in found] == ["alpha", "beta"]
    done = call(event, "tutor", "-m", "hackathon", "diagnose", f"beta/train/runs/{run.name}")
    assert done.returncode in (0, 1, 2) and "Traceback" not in done.stderr, done.stderr
    # a limit for a pattern, one for a reader that waits for nobody: not a figure of this machine's speed
    assert time.monotonic() - began < STRETCH * (100 + 4 * SECONDS)


@pytest.mark.slow
def test_a_shell_with_umask_000_makes_runs_that_nobody_else_writes(event: Path) -> None:
    project = event / "alpha" / "small"
    project.mkdir()
    (project / "project.yaml").write_text(
        "name: small\ncommand: 'true'\ncluster: laptop\nlauncher: local\nprocesses: 1\n"
    )
    owned(project, ALPHA)
    trust_event(event, {event / "alpha": ALPHA})
    done = call(event, "alpha", "-m", "hackathon", "submit", "--wait", folder="alpha/small", mask=0)
    assert done.returncode == 0, done.stderr
    (run,) = (project / "runs").glob("2*")
    attempt = (
        "import os, sys\nfor folder in sys.argv[1:]:\n    try:\n        os.mkdir(folder + '/evil')\n"
        "        print('made', folder)\n    except OSError:\n        pass\n"
    )
    places = [str(path) for path in (project / "runs", run, run / "client", run / "source")]
    assert call(event, "beta", "-c", attempt, *places).stdout == ""
