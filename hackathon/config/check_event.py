"""What must agree within `hackathon.yaml`."""

from typing import TYPE_CHECKING

from hackathon.config.event import Event
from hackathon.config.problems import shown

if TYPE_CHECKING:
    from hackathon.config.check import Report


def check_event(event: Event, report: "Report") -> None:
    """Note what is wrong between the values of an event."""
    tutors = [tutor.user for tutor in event.tutors]
    seen: set[str] = set()
    for index, team in enumerate(event.teams):
        if team.name in seen:
            report.add("config.team_twice", ("teams", index, "name"), name=shown(team.name))
        seen.add(team.name)
        for number, user in enumerate(team.tutors):
            if user not in tutors:
                report.unknown(("teams", index, "tutors", number), user, tutors, "config.no_tutor")
