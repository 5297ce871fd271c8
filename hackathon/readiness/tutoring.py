"""Whether tutors can read a team's project and runs, and the command that gives them access."""

import shlex
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from hackathon.access.permissions import Account, first_closed, readable

MOST = 3000
"""Files of one part of a run that are checked."""
PARTS = ("request.json", "job.sh", "final.json", "client", "events", "logs", "metrics", "telemetry", "source")
"""The parts of a run that a tutor reads. `env/` is left out, because the job's environment in it is private."""


def closed_to(tutor: Account, project: Path, runs: Iterable[Path]) -> Path | None:
    """Return the first file or folder of a project and of some of its runs that a tutor cannot read.

    None if there is none. Raises OSError if the current account itself lacks access.
    """
    for path in (project, project / "project.yaml", project / "runs", project / "studies"):
        if path == project or path.exists():
            barrier = readable(path, tutor.uid, tutor.groups)
            if barrier is not None:
                return barrier
    for run in runs:
        barrier = readable(run, tutor.uid, tutor.groups)
        for part in PARTS if barrier is None else ():
            if (run / part).exists():
                barrier = barrier or first_closed(run / part, tutor.uid, tutor.groups, MOST)
        if barrier is not None:
            return barrier
    return None


def opening(closed: Path, project: Path, tutors: Sequence[Account]) -> str:
    """Return the command by which the owner of a closed folder gives tutors access.

    On the way to the project: to pass, by their group, an ACL, or for everybody. Within it: to read everything but the
    environments of jobs.
    """
    by_group = all(closed.lstat().st_gid in tutor.groups for tutor in tutors)
    letter = "g" if by_group else "o"
    if closed == project or not project.is_relative_to(closed):
        # environments may contain secrets; a default ACL would open them, because it replaces the umask
        # chmod follows links, which may lead to any file of the user's
        return f"find {shlex.quote(str(project))} ! -type l ! -path '*/env/*job-*.sh' -exec chmod {letter}+rX {{}} +"
    target = shlex.quote(str(closed))
    if not by_group and shutil.which("setfacl"):
        return f"setfacl -m {','.join(f'u:{tutor.user}:x' for tutor in tutors)} {target}"
    return f"chmod {letter}+x {target}"
