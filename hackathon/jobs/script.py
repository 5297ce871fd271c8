"""The scripts of a job, and what their files are called in a run directory."""

from dataclasses import dataclass

LIBRARY = "hackathon.sh"
"""The file beside `job.sh` with the functions that it calls."""
SCRIPTS = ("job.sh", LIBRARY, "rank.sh")


@dataclass(frozen=True)
class JobScript:
    """The scripts in the run directory, `job.sh` being the one that is submitted."""

    job: str
    """`job.sh`: for users to read and edit."""
    rank: str
    """`rank.sh`, the same for every request unless a template overrides it."""
    library: str = ""
    """`hackathon.sh`; empty if `job.sh` reads none: it is the user's own, or of an older version."""

    @property
    def files(self) -> dict[str, str]:
        """Its files by name, as in the run directory."""
        texts = dict(zip(SCRIPTS, (self.job, self.library, self.rank), strict=True))
        return {name: text for name, text in texts.items() if text or name != LIBRARY}
