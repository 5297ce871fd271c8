"""Jobs on this machine: nothing differs between sites."""

from dataclasses import dataclass
from typing import ClassVar

from hackathon.schedulers.dialect import Dialect


@dataclass(frozen=True)
class LocalDialect(Dialect):
    """No keys."""

    this_machine: ClassVar[bool] = True
