"""Which rank runs which replica of which stage."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Layout:
    """Ranks in the order of stages, replicas of a stage side by side. Micro-batch i runs on replica i mod replicas."""

    replicas: tuple[int, ...]

    @cached_property
    def _first(self) -> tuple[int, ...]:
        starts = [0]
        for count in self.replicas:
            starts.append(starts[-1] + count)
        return tuple(starts)

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._first[-1]

    def place(self, rank: int) -> tuple[int, int]:
        """Return stage and replica of a rank."""
        stage = max(at for at in range(len(self.replicas)) if self._first[at] <= rank)
        return stage, rank - self._first[stage]

    def rank(self, stage: int, micro_batch: int) -> int:
        """Return the rank that runs a micro-batch in a stage."""
        return self._first[stage] + micro_batch % self.replicas[stage]

    def ranks(self, stages: Iterable[int]) -> tuple[int, ...]:
        """Return all ranks of some stages, in order."""
        return tuple(
            rank for stage in sorted(set(stages)) for rank in range(self._first[stage], self._first[stage + 1])
        )

    def stages(self, ranks: Sequence[int]) -> tuple[int, ...]:
        """Return the stages of some ranks, in order."""
        return tuple(sorted({self.place(rank)[0] for rank in ranks}))
