"""Whether a job that the scheduler shows is the run's own: a run's files can name anybody's job.

The run's folder belongs to an account, and only that account's files are read there. So the job must belong to it, too,
and have the name that the run's jobs have. What is told apart from another's job: a name with something before or
behind it (a site's submission hook), a name that a table cuts, another name than the toolkit's (a script that was
submitted by hand, or renamed by its owner), and schedulers that tell neither name nor owner.
"""

import os
import pwd
import re
from contextlib import suppress

from hackathon.runs.directory import RunDirectory
from hackathon.schedulers.accounting import Charge
from hackathon.schedulers.base import UNKNOWN, JobState
from hackathon.text.json_fields import mapping_of, text_of
from hackathon.text.printable import printable

OWN, UNTOLD, RENAMED, OTHER_RUN, OTHER_OWNER = "own", "untold", "renamed", "other_run", "other_owner"
"""The run's own job; the scheduler does not tell enough; the owner's, under a name that no run gave it; the job of
another run of the owner; another account's job."""
UNNAMED = "unnamed"
"""In place of UNTOLD for an account's entry: no owner is told, and no job of the run has such a name."""
FOREIGN = frozenset({OTHER_RUN, OTHER_OWNER})
_NOBODY = 65534
"""The owner that a file server shows for accounts that it does not tell apart."""
_OURS = re.compile(r"hk-[a-z2-7]{8}(?![a-z2-7])")
_SHORTEST = 8
"""Letters of a name that must be left of it where a table cuts names."""


def whose(run: RunDirectory, job: JobState) -> str:
    """Return one of the words above for what the scheduler says about the job that a run's files name."""
    own = belongs(job, run.path.stat().st_uid)
    if own is False:
        return OTHER_OWNER
    named = is_named(run, job.name)
    if named is False:
        return OTHER_RUN if _OURS.search(job.name) else RENAMED if own else UNTOLD
    return OWN if own else UNTOLD


def whose_charge(run: RunDirectory, charge: Charge) -> tuple[str, str]:
    """Return one of the words above for an entry of the scheduler's accounts, and its owner, else its name.

    Raises OSError when the run is gone.
    """
    job = JobState(UNKNOWN, "", name=charge.name, owner=charge.owner)
    word = whose(run, job)
    if word == UNTOLD and is_named(run, charge.name) is False:
        word = UNNAMED
    return word, shown_owner(job) if word == OTHER_OWNER else printable(charge.name)


def account_name(uid: int) -> str:
    """Return the name of an account, its number where the machine knows no name."""
    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def shown_owner(job: JobState) -> str:
    """Return the account of a job by name."""
    return account_name(int(job.owner)) if _is_number(job.owner) else printable(job.owner)


def _is_number(owner: str) -> bool:
    return owner.isascii() and owner.isdigit() and len(owner) < 11


def belongs(job: JobState, uid: int) -> bool | None:
    """Return whether a job belongs to an account, None where that is not known."""
    if not job.owner or (uid == _NOBODY and os.geteuid() != _NOBODY):
        return None
    if _is_number(job.owner):
        return int(job.owner) == uid
    try:
        return pwd.getpwnam(job.owner).pw_uid == uid
    except (KeyError, ValueError):
        pass
    try:
        # an account that this machine does not know is another one than that of the run, which it knows
        return pwd.getpwuid(uid).pw_name == job.owner
    except KeyError:
        return None


def is_named(run: RunDirectory, job_name: str) -> bool | None:
    """Return whether a name is one that the run's job has, None where there is none.

    A run that was renamed has the name that it was submitted with, an adopted one that of the job at that time.
    """
    if not job_name:
        return None
    _, submitted = run.submitting()
    adopted = mapping_of(run.client("adopted").get("job"))
    names = {run.job_name, text_of(submitted.get("name")), text_of(adopted.get("name"))} - {""}
    return any(name in job_name or (len(job_name) >= _SHORTEST and name.startswith(job_name)) for name in names)
