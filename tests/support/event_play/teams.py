"""What the six teams do in their own accounts: a project, a baseline, a failure and its cause, a study, the board."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.event_play.play import Play, Said
from support.event_play.programs import FAILS, PROJECTS
from support.patience import STRETCH

COMMAND = "python train.py --batch-size {batch_size} --epochs {epochs} --communicator {communicator}"


def project(play: Play, team: str) -> Path:
    """Return the folder of a team's project."""
    return play.team_folder(team) / "train"


def make_project(play: Play, team: str) -> None:
    """Make a team's project as its first member; own programs and their metrics are put in as an editor would."""
    role, what, folder = play.of_team(team)[0], PROJECTS[team], project(play, team)
    about = ["--name", f"project{list(PROJECTS).index(team)}", "--team", team, "--cluster", "laptop"]
    if what.recipe:
        play.done(role, "init", str(folder), "--recipe", what.recipe, *about, "-p", "epochs=10")
        return
    values = ["-p", "batch_size=256", "-p", "epochs=8", "-p", "communicator=naive"]
    play.done(role, "init", str(folder), "--command", COMMAND, *about, *values)
    write(play, role, folder / "train.py", what.program)
    write(play, role, folder / "project.yaml", (folder / "project.yaml").read_text() + what.settings)


def write(play: Play, role: str, path: Path, text: str) -> None:
    """Write a file as a user does with an editor."""
    code = f"pathlib.Path({str(path)!r}).write_text(__import__('sys').stdin.read(), 'utf-8')"
    said = play.run(role, play.python, "-c", f"import pathlib; {code}", typed=text)
    assert said.code == 0, said.error


def at_once(play: Play, commands: Iterable[tuple[str, tuple[str, ...], Path]]) -> list[Said]:
    """Run `hackathon` for several roles at the same time and return what each did, in their order."""
    running = []
    for role, words, folder in commands:
        play.log.append(f"{role}: hackathon {' '.join(words)}")
        running.append(play.start(role, "hackathon", *words, at=folder))
    said = []
    for process in running:
        out, error = process.communicate(timeout=STRETCH * 600)
        assert "\nTraceback" not in "\n" + error, error
        said.append(Said(process.returncode, out, error))
    return said


def get_ready(play: Play, teams: Iterable[str]) -> None:
    """Let teams work through the checklist: what is left at first, a run of one process, and everything ready."""
    teams = list(teams)
    rows = [(play.of_team(team)[0], project(play, team)) for team in teams]
    first, at = rows[0]
    assert play.cli(first, "ready", "--no-job", "--no-post", at=at).code == 1
    baseline = ("submit", "--launcher", "local", "--processes", "1", "--wait")
    for said in at_once(play, [(role, baseline, folder) for role, folder in rows]):
        assert said.code == 0, said.all
    for said in at_once(play, [(role, ("ready",), folder) for role, folder in rows]):
        assert said.code == 0, said.all
    # everybody has to have logged in, also who does not type
    others = [(role, folder) for (_, folder), team in zip(rows, teams, strict=True) for role in play.of_team(team)[1:]]
    for said in at_once(play, [(role, ("ready", "--no-job"), folder) for role, folder in others]):
        assert said.code in (0, 1), said.all


def scale(play: Play, teams: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Let teams measure 1 and 2 processes at the same time, through the machine's one queue; return their results."""
    teams = list(teams)
    commands = [
        (
            play.of_team(team)[0],
            ("scale", "--processes", "1,2", "--mode", PROJECTS[team].mode, "--launcher", "local", "--wait"),
            project(play, team),
        )
        for team in teams
    ]
    for (role, _, _), said in zip(commands, at_once(play, commands), strict=True):
        assert said.code == 0, f"{role}: {said.all}"
    results = {}
    for role, _, folder in commands:
        found = json.loads(play.done(role, "results", "--json", at=folder).out)
        assert [point["status"] for point in found["points"]] == ["SUCCEEDED", "SUCCEEDED"]
        assert found["checks"]["passed"], found["checks"]
        assert found["points"][1]["speedup"] == found["points"][1]["value"] / found["points"][0]["value"]
        results[play.teams[role]] = found
    return results


def fail_and_mend(play: Play) -> str:
    """Let a team's run really fail, be diagnosed, asked about, answered by others and solved; return the post's id."""
    team = FAILS
    role, folder = play.of_team(team)[0], project(play, team)
    options = ("--launcher", "local", "-p", "communicator=pure_nccl")
    said = play.cli(role, "submit", *options, "--wait", at=folder)
    assert said.code == 1, said.all
    told = play.done(role, "diagnose", at=folder).all
    assert "chainermn is not installed" in told
    assert "chainermn is not installed" in play.done("tomo", "diagnose", at=folder).all  # the team's tutor sees it, too
    assert play.cli("eve", "diagnose", at=play.event).code != 0
    run = max((folder / "runs").glob("*-1p-*"), key=lambda path: path.stat().st_mtime).name
    text = "ChainerMN が見つかりません\nHow do we get pure_nccl here?"
    post = json.loads(play.done(role, "board", "post", text, "--run", run, "--json", at=folder).out)["id"]
    other = play.of_team("ひので")[0]
    seen = play.done(other, "board", "list", "--unsolved", at=play.event).out
    assert "ChainerMN が見つかりません" in seen
    play.done(other, "board", "answer", post[-8:], "We took communicator=naive for a start.", at=play.event)
    play.done("tomo", "board", "answer", post[-8:], "module load chainermn, then pip install", at=play.event)
    assert play.cli("tamaki", "board", "answer", "zzzzzzzz", "?", at=play.event).code == 2
    assert play.cli(other, "board", "solve", post[-8:], "mine", at=play.event).code == 2
    assert _state(play, post) == "answered"
    play.done(role, "board", "solve", post[-8:], "naive, and chainermn later", at=folder)
    assert _state(play, post) == "solved"
    return str(post)


def _state(play: Play, post: str) -> str:
    posts = json.loads(play.done("kanri", "board", "list", "--json", at=play.event).out)["posts"]
    return str(next(each["state"] for each in posts if each["id"] == post))


def fingerprint(*folders: Path, without: int | None = None) -> dict[str, tuple[int, int, int, bytes]]:
    """Return path → owner, mode, group and content of all that lies in folders, without what one user owns."""
    found: dict[str, tuple[int, int, int, bytes]] = {}
    for folder in folders:
        for top, names, files in os.walk(folder):
            for name in ["", *files, *names]:
                path = Path(top) / name
                state = path.lstat()
                if state.st_uid != without:
                    content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
                    found[str(path)] = (state.st_uid, state.st_mode, state.st_gid, content)
    return found
