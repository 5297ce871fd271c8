"""The scripts of a job, and what their files are called in a run directory."""

from dataclasses import dataclass

LIBRARY = "hackathon.sh"
"""The file beside `job.sh` that holds the functions which it calls."""
SCRIPTS = ("job.sh", LIBRARY, "rank.sh")


@dataclass(frozen=True)
class JobScript:
    """What lies in the run directory and is submitted."""

    job: str
    """`job.sh`: what a person reads and edits."""
    rank: str
    """`rank.sh`, the same for every request unless a template overrides it."""
    library: str = ""
    """`hackathon.sh`; empty where `job.sh` reads none: it is somebody's own, or of a former version."""

    @property
    def files(self) -> dict[str, str]:
        """Its files by name, as they lie in the run directory."""
        texts = dict(zip(SCRIPTS, (self.job, self.library, self.rank), strict=True))
        return {name: text for name, text in texts.items() if text or name != LIBRARY}
