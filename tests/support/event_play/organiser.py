"""What the organiser does: the event's file and folders, what is wrong with them, the readiness of the teams."""

import json
import stat
import subprocess

from support.event_2019 import TEAMS, event_2019, values_2019
from support.event_play.play import Play
from support.event_play.programs import PROJECTS
from support.event_play.teams import write

MODELS = ("logistic regression, plain Python", "convolutional network, PyTorch")
ABSENT = {"Dust": "riku", "Ember": "sora"}
"""Chosen teams that did not come → their member."""
ALONE, EARLY = "Nimbus", "10:50"
"""The team without a tutor, and when ChainerMN begins, in the first version of the file."""
CLOSED = "Borealis"
"""The team whose folder is closed by mistake."""


def plan(play: Play) -> None:
    """Write the event's first file, with a team without a tutor and an overlap, in the organiser's home."""
    values = values_2019()
    for team in values["teams"]:
        team["group"] = play.group(team["name"])
        team["model"] = MODELS[bool(PROJECTS[team["name"]].recipe)]
        team["done"] = {
            "en": f"{team['name']} went from one process to two.",
            "ja": "1 プロセスから 2 プロセスへ進めた。",
        }
        if team["name"] == ALONE:
            team["tutors"] = []
    for name, user in ABSENT.items():
        member = {"user": user, "kind": "master", "name": user.title()}
        values["teams"].append({"name": name, "members": [member], "tutors": ["tomo"], "took_part": False})
    for item in values["schedule"]:
        if item["title"] == "ChainerMN":
            item["start"] = EARLY
    people = {role: play.account(role) for role in play.uids}
    folder = play.home("kanri") / "plan"
    event_2019(
        folder, people, teams=values["teams"], schedule=values["schedule"],
        publish={"board": True, "logs": True, "source": True, "runs": "all"},
        clusters={"laptop": {"budget": {"node_hours": 5}}},
        lessons=[{"en": "Tell the purpose early.", "ja": "目的を早く伝える。"}],
    )  # fmt: skip
    for path in (folder, folder / "hackathon.yaml"):
        play.give(path, "kanri")


def edit(play: Play, old: str, new: str) -> None:
    """Change the event's file as the organiser does with an editor."""
    path = play.event / "hackathon.yaml"
    text = path.read_text("utf-8")
    assert old in text, text
    write(play, "kanri", path, text.replace(old, new, 1))


def check(play: Play, *said: str) -> str:
    """Run `event check`, which must name what is wrong; nothing given: it must be clean. Return what it printed."""
    told = play.cli("kanri", "event", "check", at=play.event)
    assert told.code == (1 if said else 0), told.all
    for words in said:
        assert words in told.all, f"{words!r} is not in\n{told.all}"
    return told.all


def make_event(play: Play) -> None:
    """Make the event's folders from the file; root runs the script that is written for the administrator."""
    plan(play)
    play.event.mkdir()  # the empty folder, on a disk that all accounts reach
    play.give(play.event, "kanri")
    source, script = play.home("kanri") / "plan" / "hackathon.yaml", play.home("kanri") / "for-root.sh"
    options = ("--from", str(source), "--admin-script", str(script))
    told = play.done("kanri", "event", "init", *options, at=play.event)
    assert "as root" in told.error
    play.log.append(f"root: sh {script.name}")
    done = subprocess.run(["sh", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    again = play.done("kanri", "event", "init", at=play.event)
    assert "as root" not in again.error, again.error
    for team in TEAMS:
        state = play.team_folder(team).stat()
        assert state.st_gid == play.gids[team]
        assert stat.S_IMODE(state.st_mode) == 0o2770
    assert stat.S_IMODE((play.event / "surveys").stat().st_mode) == 0o700


def all_ready(play: Play) -> None:
    """Let `event check` collate what the teams posted: every point of every team that came is proven."""
    told = json.loads(play.done("kanri", "event", "check", "--json", at=play.event).out)
    assert told["counts"]["error"] == 0
    ready = {each["team"]: each for each in told["ready"]}
    for team in TEAMS:
        states = {point["name"]: (point["state"], point["why"]) for point in ready[team]["points"]}
        assert {state for state, _ in states.values()} <= {"confirmed", "told"}, (team, states)
        assert states["job"][0] == states["baseline"][0] == states["check"][0] == "confirmed"


def find_faults(play: Play) -> None:
    """Let `event check` find a team without a tutor, an overlap and a folder that tutors can not read; mend them."""
    folder = play.team_folder(CLOSED)
    assert play.attempt("kanri", f"os.chmod({str(folder)!r}, 0o700)") == "done"
    check(play, ALONE, "ChainerMN", EARLY, str(folder))
    edit(play, EARLY, "11:00")
    edit(play, "tutors: []", f"tutors: [{play.account('tsubasa')}]")
    again = play.done("kanri", "event", "init", at=play.event)  # gives folders their modes again
    # what the folder's owner cannot do who is not in the team's group
    assert "-exec chmod 2770 --" in next(line for line in again.all.splitlines() if f"find {folder} " in line)
    check(play)
