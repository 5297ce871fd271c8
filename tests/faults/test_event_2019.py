"""The event of 2019 as the users play it whom it is for: from an empty folder to report, slides and site.

Each command runs in the account of a real Unix user, each training really trains, and two accounts mean harm: one of
nobody's, and one of a participant.
"""

import pytest

from support.event_2019 import TEAMS, TUTORS
from support.event_play.hostile import attack, below, open_to_all, take_back
from support.event_play.intruder import (
    at_the_box,
    at_the_form,
    in_the_terminal,
    let_the_organiser_read,
    while_somebody_answers,
)
from support.event_play.organiser import ABSENT, all_ready, find_faults, make_event
from support.event_play.play import Play, accounts
from support.event_play.pretender import pretend
from support.event_play.report import report, site, slides, use
from support.event_play.survey import by_file, by_form, by_terminal, close, counted, open_survey, served
from support.event_play.teams import at_once, fail_and_mend, fingerprint, get_ready, make_project, scale
from support.installed import needs

needs("torch")

MEMBERS = {user: team for team, members in TEAMS.items() for user, _ in members}
HOSTILE = {"eve": "", "daichi": "Cumulus"}
"""Role → its team."""
VICTIM = "akari"

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.browser, pytest.mark.timeout(1500)]


def test_the_event_of_2019_from_an_empty_folder_to_its_report() -> None:
    with accounts(["kanri", *MEMBERS, *ABSENT.values(), *TUTORS, "eve"], MEMBERS, TEAMS) as play:
        make_event(play)
        trust(play)
        find_faults(play)
        for team in TEAMS:
            make_project(play, team)
        get_ready(play, TEAMS)
        results = scale(play, TEAMS)
        post = fail_and_mend(play)
        for role in HOSTILE:
            _work_against(play, role, post)
        all_ready(play)
        _ask(play)
        secrets = let_the_organiser_read(play, "daichi")
        use(play)
        report(play, results, secrets)
        slides(play, results)
        site(play, secrets)


def trust(play: Play) -> None:
    """Let everybody but the organiser say once that the event counts; nobody is asked again."""
    for said in at_once(play, [(role, ("trust",), play.event) for role in play.uids if role != "kanri"]):
        assert said.code == 0 and play.account("kanri") in said.error, said.all


def _work_against(play: Play, role: str, post: str) -> None:
    """Try to alter what others have made, and to pass for another; nothing of theirs is another than before."""
    its = HOSTILE[role]
    others = [path for path in below(play.event) if not its or its not in path.parts]
    closed = [path for path in others if set(path.parts) & set(TEAMS)]
    before = fingerprint(play.event, without=play.uids[role])
    public = play.shared / "board.json"  # to see that what can be read is found
    done = set(attack(play, role, others, [*below(play.home(VICTIM)), *closed, public]))
    expected = open_to_all(play, play.shared) | {("stat", public), ("read", public)}
    assert done - {("link", public)} == expected, done ^ expected
    take_back(play, role, play.shared)
    pretend(play, role, VICTIM, post)
    assert fingerprint(play.event, without=play.uids[role]) == before


def _ask(play: Play) -> None:
    """Collect the eleven answers on three ways while two try to know them, to change them and to answer for others."""
    tokens = open_survey(play, 11)
    with served(play) as (address, form):
        by_form(play, tokens[:3], address)
        # to the form a participant is nobody else than any account of the machine
        at_the_form(play, "eve", address, form.pid, tokens[:1], tokens[3:])
    by_terminal(play, [VICTIM, "natsu"])
    for role in HOSTILE:
        at_the_box(play, role, VICTIM, tokens[0])
        in_the_terminal(play, role, tokens[0])
    while_somebody_answers(play, "daichi", "natsu", tokens[4])
    by_terminal(play, ["daichi"], 2)  # who has answered thrice by now, and counts once
    assert counted(play) == 6
    by_file(play)
    assert counted(play) == 11
    close(play)
