"""What a run's job made of its nodes, as far as its files tell: the load, in contrast to the time (`runs.lives`)."""

from dataclasses import astuple, dataclass, fields

STANDS, INTERVALS = 5 * 60.0, 20
"""A run makes no progress after so many seconds, and so many of its usual intervals, without a new number."""


@dataclass(frozen=True, slots=True)
class RunLoad:
    """The load of a run's nodes; None is not recorded."""

    submitted: float | None = None
    """When its job was submitted, in seconds since 1970."""
    output: float | None = None
    """The time of the newest number that its first rank wrote."""
    interval: float | None = None
    """Usual seconds between two of these numbers."""
    gpus: int | None = None
    """GPUs of all its nodes that were measured; None if that lacks a node."""
    gpus_used: int | None = None
    """Those that ever worked or held memory."""
    kwh: float | None = None
    """Energy of these GPUs over the run."""
    memory: float | None = None
    """Bytes of main memory in use on a node at most, with those of the operating system."""

    def stood(self, end: float) -> float:
        """Return the seconds without progress before `end` (seconds since 1970); 0 for a pause as is usual."""
        if self.output is None:
            return 0.0
        gap = end - self.output
        return gap if gap > max(STANDS, INTERVALS * (self.interval or 0.0)) else 0.0

    def to_values(self) -> list[float | None]:
        """Return its values as JSON values, in the order of the fields."""
        return list(astuple(self))

    @classmethod
    def from_values(cls, values: list[float | None]) -> "RunLoad":
        """Return the load of `to_values`. Raises TypeError for another number of values."""
        if len(values) != len(fields(cls)):
            raise TypeError("another version's load")
        return cls(*values)  # type: ignore[arg-type]
