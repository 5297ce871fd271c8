"""Check that a job is the run's own: a run's files can name anybody's job.

Only files of the run folder's owner are read. So the job must belong to the same account and have the name of the run's
jobs. Not treated as another's job: a name with a prefix or suffix (a site's submission hook), a truncated name in a
table, a name that this toolkit did not choose (a script submitted by hand, or renamed by its owner), and schedulers
that report neither name nor owner.
"""

import os
import pwd
import re
from contextlib import suppress

from hackathon.runs.directory import RunDirectory
from hackathon.schedulers.base import UNKNOWN, JobState
from hackathon.schedulers.reports import Charge
from hackathon.text.json_fields import mapping_of, text_of
from hackathon.text.printable import printable

OWN, UNTOLD, RENAMED, OTHER_RUN, OTHER_OWNER = "own", "untold", "renamed", "other_run", "other_owner"
"""The run's own job; too little is known; the owner's job under another name; another run's; another account's."""
UNNAMED = "unnamed"
"""Replaces UNTOLD for an accounting entry without an owner whose name is not that of a job of the run."""
FOREIGN = frozenset({OTHER_RUN, OTHER_OWNER})
_NOBODY = 65534
"""The owner that a file server reports for accounts that it cannot tell apart."""
_OURS = re.compile(r"hk-[a-z2-7]{8}(?![a-z2-7])")
_SHORTEST = 8
"""Characters that must remain of a name that a table truncates."""


def whose(run: RunDirectory, job: JobState) -> str:
    """Return one of the words above for the scheduler's report on the job in a run's files."""
    own = belongs(job, run.path.stat().st_uid)
    if own is False:
        return OTHER_OWNER
    named = is_named(run, job.name)
    if named is False:
        return OTHER_RUN if _OURS.search(job.name) else RENAMED if own else UNTOLD
    return OWN if own else UNTOLD


def whose_charge(run: RunDirectory, charge: Charge) -> tuple[str, str]:
    """Return one of the words above for an accounting entry, and the entry's owner, else its name.

    Raises OSError when the run is gone.
    """
    job = JobState(UNKNOWN, "", name=charge.name, owner=charge.owner)
    word = whose(run, job)
    if word == UNTOLD and is_named(run, charge.name) is False:
        word = UNNAMED
    return word, shown_owner(job) if word == OTHER_OWNER else printable(charge.name)


def account_name(uid: int) -> str:
    """Return the name of an account, or its number if the machine has no name for it."""
    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def shown_owner(job: JobState) -> str:
    """Return the name of a job's account."""
    return account_name(int(job.owner)) if _is_number(job.owner) else printable(job.owner)


def _is_number(owner: str) -> bool:
    return owner.isascii() and owner.isdigit() and len(owner) < 11


def belongs(job: JobState, uid: int) -> bool | None:
    """Return whether a job belongs to an account, None when that is unknown."""
    if not job.owner or (uid == _NOBODY and os.geteuid() != _NOBODY):
        return None
    if _is_number(job.owner):
        return int(job.owner) == uid
    try:
        return pwd.getpwnam(job.owner).pw_uid == uid
    except (KeyError, ValueError):
        pass
    try:
        # the run's account has a name on this machine, so an unknown account is another one
        return pwd.getpwuid(uid).pw_name == job.owner
    except KeyError:
        return None


def is_named(run: RunDirectory, job_name: str) -> bool | None:
    """Return whether a name is that of the run's job, None without a name.

    A renamed run's job has the name under which it was submitted; an adopted job has its name at adoption.
    """
    if not job_name:
        return None
    _, submitted = run.submitting()
    adopted = mapping_of(run.client("adopted").get("job"))
    names = {run.job_name, text_of(submitted.get("name")), text_of(adopted.get("name"))} - {""}
    return any(name in job_name or (len(job_name) >= _SHORTEST and name.startswith(job_name)) for name in names)
