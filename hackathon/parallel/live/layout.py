"""The assignment of ranks to replicas of stages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Layout:
    """Ranks in the order of stages, with consecutive replicas of a stage. Micro-batch i runs on replica i mod replicas.

    With `chunks` stages per rank all stages have the same replicas, and a rank of stage s also runs the stages at
    multiples of `distance` after s.
    """

    replicas: tuple[int, ...]
    chunks: int = 1

    @property
    def distance(self) -> int:
        """Number of stages after which the ranks repeat."""
        return len(self.replicas) // self.chunks

    @cached_property
    def _first(self) -> tuple[int, ...]:
        starts = [0]
        for count in self.replicas[: self.distance]:
            starts.append(starts[-1] + count)
        return tuple(starts)

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._first[-1]

    def place(self, rank: int) -> tuple[int, int]:
        """Return the stage, or the first of its stages, and the replica of a rank."""
        stage = max(at for at in range(self.distance) if self._first[at] <= rank)
        return stage, rank - self._first[stage]

    def own(self, rank: int) -> tuple[int, ...]:
        """Return the stages of a rank."""
        return tuple(range(self.place(rank)[0], len(self.replicas), self.distance))

    def rank(self, stage: int, micro_batch: int) -> int:
        """Return the rank that runs a micro-batch in a stage."""
        return self._first[stage % self.distance] + micro_batch % self.replicas[stage]

    def ranks(self, stages: Iterable[int]) -> tuple[int, ...]:
        """Return all ranks of some stages, in order."""
        return tuple(
            rank
            for stage in sorted({number % self.distance for number in stages})
            for rank in range(self._first[stage], self._first[stage + 1])
        )

    def stages(self, ranks: Sequence[int]) -> tuple[int, ...]:
        """Return the stages of some ranks, in order."""
        return tuple(sorted({self.place(rank)[0] for rank in ranks}))
