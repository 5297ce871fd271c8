"""The scheduler `example`: jobs on this machine that stand back behind other programs."""

from dataclasses import dataclass, field
from typing import ClassVar

from hackathon.schedulers.base import Submission
from hackathon.schedulers.local.commands import Local
from hackathon.schedulers.local.dialect import LocalDialect


@dataclass(frozen=True)
class ExampleDialect(LocalDialect):
    """How a profile sets it up."""

    nice: int = 10
    """How far jobs stand back, from 0 to 19."""


@dataclass(frozen=True)
class Example(Local):
    """The commands of `local`, with `nice` in front of the one that starts a job."""

    name: ClassVar[str] = "example"
    dialect: ExampleDialect = field(default_factory=ExampleDialect)

    def submit_argv(self, submission: Submission) -> list[str]:
        """Return the command that submits a job."""
        return ["nice", "-n", str(self.dialect.nice), *super().submit_argv(submission)]
