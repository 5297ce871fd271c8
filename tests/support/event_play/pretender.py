"""Somebody passes for another on the board: by names, by fields, by a hard link, by closing what is not his."""

import json
import time
from dataclasses import replace
from typing import Any

from hackathon.board.board import Board, read_board
from hackathon.board.directory import open_place
from hackathon.board.entry import Entry, Proof, encode, new_id
from hackathon.board.people import People
from hackathon.readiness.situation import NAMES
from support.event_play.hostile import forge
from support.event_play.play import Play


def board(play: Play) -> Board:
    """Return the event's board as everybody reads it."""
    from hackathon.config.load import load_event

    return read_board(open_place(play.shared), People(load_event(play.event)))


def ready(play: Play, without: str) -> dict[str, Any]:
    """Return how ready the teams are, without the team of one role."""
    from hackathon.config.load import load_event
    from hackathon.readiness.collected import collected

    found = collected(board(play), load_event(play.event))
    return {team: each.to_json() for team, each in found.items() if team != play.teams.get(without)}


def honest(play: Play, without: str) -> list[dict[str, Any]]:
    """Return what the board says, without what one role wrote as itself."""
    uid = play.uids[without]
    found = [post.to_json() for post in board(play).posts if post.uid != uid]
    for post in found:
        post["answers"] = [each for each in post["answers"] if each["uid"] != uid]
        post["state"] = ""  # an answer of anybody answers
    return found


def pretend(play: Play, role: str, victim: str, post: str) -> None:
    """Try everything a role can put on the board in a victim's name; nothing of it may count as the victim's."""
    entries, place = play.shared / "entries", open_place(play.shared).board
    mine, theirs = play.uids[role], play.uids[victim]
    before, before_ready = honest(play, role), ready(play, role)
    fields = {
        "user": play.account(victim),
        "uid": theirs,
        "owner": theirs,
        "by": play.account(victim),
        "team": play.teams[victim],
    }

    def put(entry: Entry, **more: object) -> str:
        raw = json.dumps({**json.loads(encode(entry)), **more}).encode()
        forge(play, role, entries, f"{entry.id}.json", raw)
        return f"{entry.id}.json"

    text = f"I am {victim}"
    proofs = tuple(Proof(name, True, "your answer is already counted", {"run": "x", "seconds": 1.0}) for name in NAMES)
    signed = put(Entry(new_id(mine), "post", time.time(), place, text=text), **fields)
    named = put(Entry(new_id(theirs), "post", time.time(), place, text=text))
    closing = put(Entry(new_id(mine), "solve", time.time(), place, to=post, text="closed by somebody else"), **fields)
    taking = put(Entry(new_id(mine), "take", time.time(), place, to=post), **fields)
    checklist = Entry(new_id(mine), "ready", time.time(), place, ready=proofs)
    claim = put(checklist, **fields)
    foreign_claim = put(replace(checklist, id=new_id(theirs)), **fields)
    taken = forge(play, role, entries, f"{new_id(theirs)}.json", encode(replace(checklist, board="ffffffffffffffff")))

    now = board(play)
    over = {each.name: each.why for each in now.passed}
    assert over[named] == over[foreign_claim] == "foreign"
    assert over[closing] == over[taking] == "not_allowed"
    assert taken.name in over
    (signed_post,) = [each for each in now.posts if f"{each.id}.json" == signed]
    assert (signed_post.uid, signed_post.user) == (mine, play.account(role))
    (listed,) = [each for each in now.ready if f"{each.entry.id}.json" == claim]
    assert listed.uid == mine
    assert honest(play, role) == before
    assert ready(play, role) == before_ready
    names = json.dumps([signed, named, closing, taking, claim, foreign_claim, taken.name])
    assert play.attempt(role, f"[os.unlink({str(entries)!r} + '/' + name) for name in json.loads({names!r})]") == "done"
