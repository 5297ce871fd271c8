"""Write an event's hackathon.yaml with comments, and add teams to a file that people have edited."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.text.errors import RequestError
from hackathon.text.messages import LANGUAGES, N_, _, language

if TYPE_CHECKING:
    from hackathon.config.event import Event, Team

_WORD_TEXTS = {
    "place": N_("venue"),
    "languages": N_("languages of the published pages, the main one first"),
    "hosts": N_("organisers, the main one first"),
    "budget": N_("per team: node_hours, gpu_hours, or tokens"),
    "spent": N_("refuse submissions when the budget is spent (default: warn)"),
    "chosen": N_("number of teams selected, if more than listed below"),
    "group": N_("the group (project, account) to charge"),
    "project": N_("project title"),
    "reception": N_("Reception"),
    "break": N_("Break"),
    "end": N_("End"),
}

_COMMENT_TEXTS = {
    "file": N_(
        "One event. `hackathon event check` lists problems, `hackathon event show` shows the event.\n"
        "After a change, run `hackathon event init` again to create the directories of new teams."
    ),
    "dates": N_("Days:"),
    "clusters": N_("Clusters used, with queue, reservation, and the budget of each team:"),
    "shared": N_("The directory that all accounts can reach; it contains the board. Relative to this file."),
    "teams": N_(
        "Teams: members with account and kind (undergraduate, master, doctoral, staff, company),\n"
        "the accounts of their tutors, the group to charge. A team that did not take part: took_part: false"
    ),
    "tutors": N_("Tutors and the topics they help with:"),
    "schedule": N_("Time and end may be left out; after midnight, hours continue: 26:00."),
    "publish": N_("What published pages may show. By default, they show neither names of people nor logs."),
}

_EMPTY_LIST = re.compile(r"([^:#]*:)\s*\[\s*\](\s*|\s+#.*)")
"""An empty list on one line: its key, and the text after it."""


@dataclass(frozen=True)
class Draft:
    """The facts about an event before its file is written."""

    title: str
    dates: tuple[str, ...] = ()
    place: str = ""
    cluster: str = ""
    queue: str = ""
    shared: str = "shared"
    teams: tuple["Team", ...] = ()
    tutors: tuple[str, ...] = field(default=())
    """Accounts of tutors."""


def event_text(draft: Draft) -> str:
    """Return a hackathon.yaml with comments in the current language."""
    lines = [*_comment("file"), f"title: {scalar(draft.title)}"]
    day = draft.dates[0] if draft.dates else "2019-01-24"
    if draft.dates:
        lines.append(f"dates: [{', '.join(draft.dates)}]")
    else:
        lines += [*_comment("dates"), f"# dates: [{day}]"]
    lines.append(f"place: {scalar(draft.place)}" if draft.place else f'# place: ""   # {_word("place")}')
    # published pages in the first language have the plain names, so the organiser's language comes first
    codes = ", ".join(dict.fromkeys((language(), *LANGUAGES)))
    lines.append(f"languages: [{codes}]   # {_word('languages')}")
    lines += [f"# hosts: []   # {_word('hosts')}", "", *_comment("clusters")]
    budget = "budget: {node_hours: 20}"
    if draft.cluster and draft.queue:
        lines += ["clusters:", f"  {scalar(draft.cluster)}:", f"    queue: {scalar(draft.queue)}"]
        lines.append(f"    # {budget}   # {_word('budget')}")
    elif draft.cluster:
        lines += [f"# {{queue: NAME, {budget}}}   # {_word('budget')}", "clusters:", f"  {scalar(draft.cluster)}: {{}}"]
    else:
        lines += ["# clusters:", "#   reedbush-h:", "#     queue: h-debug", f"#     {budget}   # {_word('budget')}"]
    lines.append(f"# when_spent: refuse   # {_word('spent')}")
    lines += ["", *_comment("shared"), f"shared: {scalar(draft.shared)}", "", *_comment("teams")]
    lines += [f"# chosen: {max(len(draft.teams), 1)}   # {_word('chosen')}"]
    tutors = dict.fromkeys([*draft.tutors, *(user for team in draft.teams for user in team.tutors)])
    if draft.teams:
        lines += ["teams:", *(line for team in draft.teams for line in team_lines(team))]
    else:
        lines += ["# teams:", "# - name: Aurora", "#   members:", "#   - {user: alice, kind: master, name: Alice}"]
    lines += ["", *_comment("tutors")]
    if tutors:
        lines += ["tutors:", *(line for user in tutors for line in tutor_lines(user))]
    else:
        lines += ["# tutors:", "# - {user: carol, name: Carol, knows: [NCCL, Horovod]}"]
    lines += ["", *_comment("schedule"), "# schedule:"]
    lines += [
        f'# - {{day: {day}, start: "09:30", end: "10:00", title: {scalar(_word("reception"))}}}',
        f"# - {{day: {day}, title: {scalar(_word('break'))}}}",
        f'# - {{day: {day}, start: "17:15", title: {scalar(_word("end"))}}}',
        "", *_comment("publish"), "# publish: {users: false, board: false}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def team_lines(team: "Team") -> list[str]:
    """Return a team as an item of `teams`."""
    lines = [f"- name: {scalar(team.name)}"]
    for name in ("group", "project"):
        value = getattr(team, name)
        lines.append(f"  {name}: {scalar(value)}" if value else f'  # {name}: ""   # {_word(name)}')
    lines.append("  members:" if team.members else "  members: []   # - {user: alice, kind: master, name: Alice}")
    for member in team.members:
        values = {"user": member.user, "kind": member.kind, "name": member.name}
        inside = ", ".join(f"{name}: {scalar(value)}" for name, value in values.items() if value)
        lines.append(f"  - {{{inside}}}")
    tutors = ", ".join(scalar(user) for user in team.tutors)
    lines.append(f"  tutors: [{tutors}]" if tutors else "  tutors: []")
    return lines


def tutor_lines(user: str) -> list[str]:
    """Return a tutor as an item of `tutors`."""
    return [f"- {{user: {scalar(user)}, knows: []}}"]


def checked(text: str, path: Path) -> "Event":
    """Return the event in a text. Raises ConfigError with every problem; messages name `path`."""
    from hackathon.config.event import Event
    from hackathon.config.validate import validate
    from hackathon.config.yaml import parse_yaml

    event = validate(Event, parse_yaml(text.encode("utf-8", "surrogateescape"), path))
    if not isinstance(event, Event):
        raise TypeError(f"{event!r} is no event")
    return event


def with_teams(text: str, path: Path, teams: Sequence["Team"]) -> tuple[str, list[str]]:
    """Return a hackathon.yaml with its missing teams added, and their names; nothing else changes.

    Tutors of added teams who are missing in the event are added too. Raises RequestError if lines cannot be added
    because of the file's style (lists in brackets), ConfigError if the file is invalid before or after.
    """
    before = checked(text, path)
    existing = {team.name for team in before.teams}
    new = [team for team in teams if team.name not in existing]
    if not new:
        return text, []
    tutors = list(dict.fromkeys(user for team in new for user in team.tutors))
    tutors = [user for user in tutors if user not in {tutor.user for tutor in before.tutors}]
    added = _inserted(text, path, "teams", [team_lines(team) for team in new])
    if tutors:
        added = _inserted(added, path, "tutors", [tutor_lines(user) for user in tutors])
    after = checked(added, path)
    names = [team.name for team in new]
    same = replace(after, teams=before.teams, tutors=before.tutors) == before
    if not (same and after.teams == [*before.teams, *new] and after.tutors[: len(before.tutors)] == before.tutors):
        raise RequestError(
            "event.can_not_add",
            "cannot add teams to {file} without changing something else: {names}",
            hint="Add them by hand.",
            file=path,
            names=", ".join(names),
        )
    return added, names


def left_as_written(text: str, path: Path, teams: Sequence["Team"]) -> list[str]:
    """Return the teams of a table for which hackathon.yaml has other people or another group.

    The file's entries stay.
    """
    written = {team.name: team for team in checked(text, path).teams}
    return [team.name for team in teams if team.name in written and _tells_more(team, written[team.name])]


def _tells_more(team: "Team", written: "Team") -> bool:
    people = {word for member in written.members for word in (member.user, member.name)}
    return (
        any((member.user or member.name) not in people for member in team.members)
        or not set(team.tutors) <= set(written.tutors)
        or bool(team.group and team.group != written.group)
    )


def _inserted(text: str, path: Path, key: str, items: Sequence[Sequence[str]]) -> str:
    """Return a text with items added to the end of a top-level list, which is created if missing."""
    from hackathon.config.yaml import parse_yaml

    document = parse_yaml(text.encode("utf-8", "surrogateescape"), path)
    lines = text.split("\n")
    value = document.value.get(key) if isinstance(document.value, dict) else None
    if (key,) not in document.places:
        while lines and not lines[-1].strip():
            lines.pop()
        return "\n".join([*lines, "", f"{key}:", *(line for item in items for line in item), ""])
    line = document.places[(key,)] - 1
    indent = ""
    if value:
        first = lines[document.places[(key, 0)] - 1]
        indent = first[: len(first) - len(first.lstrip())]
        if document.places[(key, 0)] - 1 == line or not first.lstrip().startswith("-"):
            raise RequestError(
                "event.list_in_brackets",
                "{file}:{line}: `{key}` is written in brackets, so nothing can be added to it",
                hint="Write one item per line, each starting with `- `, and try again.",
                file=path,
                line=line + 1,
                key=key,
            )
    else:
        empty = _EMPTY_LIST.fullmatch(lines[line])
        if empty is None:
            raise RequestError(
                "event.list_in_brackets",
                "{file}:{line}: `{key}` is written in brackets, so nothing can be added to it",
                hint="Write one item per line, each starting with `- `, and try again.",
                file=path,
                line=line + 1,
                key=key,
            )
        lines[line] = empty[1] + empty[2]
    following = [number - 1 for keys, number in document.places.items() if len(keys) == 1 and number - 1 > line]
    end = min(following, default=len(lines))
    while end > line + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return "\n".join([*lines[:end], *(indent + row for item in items for row in item), *lines[end:]])


def scalar(text: str) -> str:
    """Return a text as a YAML 1.2 scalar: plain if it is unambiguous, otherwise as JSON, which is valid YAML."""
    bare = text.isascii() and text[:1].isalpha() and all(character.isalnum() or character in "-_" for character in text)
    return text if bare and text.lower() not in ("true", "false", "null") else json.dumps(text, ensure_ascii=False)


def _comment(name: str) -> list[str]:
    return [f"# {line}" for line in _(_COMMENT_TEXTS[name]).splitlines()]


def _word(name: str) -> str:
    return _(_WORD_TEXTS[name])
