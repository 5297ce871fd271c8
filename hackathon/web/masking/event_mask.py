"""The mask of an event: the names in its record and its runs, by the rules of its hackathon.yaml."""

import os
from collections.abc import Sequence

from hackathon.config.event import Publish
from hackathon.diagnosis.scrub import own_names
from hackathon.index.catalog import Catalog
from hackathon.web.masking.mask import Mask
from hackathon.web.masking.names import Named, together


def mask_of(source: Catalog, named: Sequence[Named], rules: Publish) -> Mask:
    """Return the mask for all names in a catalog."""
    names = together(named)
    event = source.event
    teams = event.teams if event else []
    members = [member for team in teams for member in team.members]
    tutors = event.tutors if event else []
    users = {member.user for member in members} | {tutor.user for tutor in tutors} | own_names() | set(names.users)
    users |= {user for team in teams for user in team.tutors} | {run.user for run in source.summaries}
    roots = {str(project.path) for project in source.projects}
    if source.event_folder is not None:
        roots.add(str(source.event_folder.absolute()))
    return Mask(
        users,
        {*names.hosts, os.uname().nodename},
        people=[*(member.name for member in members), *(tutor.name for tutor in tutors if not rules.tutors)],
        shown=[tutor.name for tutor in tutors if rules.tutors],
        groups={*names.groups, *(team.group for team in teams if team.group)},
        teams=[team.name for team in teams],
        hidden=source.hidden,
        roots=roots,
        secrets=names.secrets,
        rules=rules,
    )
