"""The state of a partial plan in the search, and the steps that extend it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hackathon.parallel.plan.order import in_flight, warm_up_before


@dataclass(frozen=True)
class Shape:
    """The numbers of stages and replicas that a plan may have."""

    devices: int
    micro_batches: int
    stages: int | None = None
    replicas: tuple[int, ...] | None = None
    """Of each stage, first to last."""
    same_replicas: int | None = None
    """Of every stage."""
    most_stages: int | None = None
    candidates: tuple[int, ...] | None = None
    """Replicas to try; None: all."""

    @property
    def equal(self) -> bool:
        """Whether all plans have the same number of stages, and the same replicas of each stage."""
        return self.stages is not None and self.same_replicas is not None

    @property
    def fixed(self) -> bool:
        """Whether there is one choice of stages and replicas."""
        return self.equal or self.replicas is not None

    @property
    def most_replicas(self) -> int:
        """The most replicas that a stage may have."""
        if self.replicas is not None:
            return max(self.replicas)
        if self.same_replicas is not None:
            return self.same_replicas
        return max(1, min(self.devices - (self.stages or 1) + 1, self.micro_batches))

    @property
    def rounds(self) -> float:
        """At least so many passes in each direction of the busiest rank through an equal share of the work."""
        replicas = self.replicas or (self.same_replicas,) * (self.stages or 0)
        if not replicas or (self.same_replicas is not None and self.stages is None):
            return self.micro_batches / self.devices
        return 1 / sum(1 / -(-self.micro_batches // (count or 1)) for count in replicas)

    def tight(self) -> "Shape":
        """Return the same shape without devices that no plan can use."""
        if self.replicas is not None:
            most = sum(self.replicas)
        elif self.same_replicas is not None:
            most = self.same_replicas * (self.stages or max(1, self.devices // self.same_replicas))
        else:
            most = self.micro_batches * (self.stages or self.devices)
        return replace(self, devices=min(self.devices, most))

    def equal_choices(self, most: int) -> list["Shape"]:
        """Return each choice of up to `most` stages with equal replicas, the fastest by a rule of thumb first."""
        m, devices = self.micro_batches, self.devices
        choices = [
            (stages, replicas)
            for stages in range(1, min(devices, most) + 1)
            for replicas in range(1, min(devices // stages, m) + 1)
            if self.allows((replicas,) * stages)
        ]
        choices.sort(key=lambda choice: ((m + (choice[0] - 1) * choice[1]) / (choice[0] * choice[1]), choice))
        return [Shape(stages * count, m, stages=stages, same_replicas=count) for stages, count in choices]

    def without_stages(self, most_labels: int) -> "Shape":
        """Return a shape that also contains the plans of this one after stages are removed."""
        candidates = self.candidates
        if self.replicas is not None:
            candidates = tuple(sorted(set(self.replicas)))
        elif self.stages is not None and self.same_replicas is None:
            candidates = tuple(range(1, self.most_replicas + 1))
        most = len(self.replicas) if self.replicas is not None else self.stages
        # equal replicas on just enough devices leave no more stages; else both are counted
        counted = most is not None and self.same_replicas is None and most * self.devices <= most_labels
        return replace(self, stages=None, replicas=None, candidates=candidates, most_stages=most if counted else None)

    def choices(self, placed: int, devices: int) -> list[int]:
        """Return the possible replicas of the next stage before `placed` stages on `devices` devices."""
        left = min(self.devices - devices, self.micro_batches)
        if placed >= min(limit for limit in (self.stages, self.most_stages, placed + 1) if limit is not None):
            return []
        if self.replicas is not None:
            mine = [self.replicas[-1 - placed]] if placed < len(self.replicas) else []
        elif self.same_replicas is not None:
            mine = [self.same_replicas]
        else:
            mine = list(range(1, left + 1)) if self.candidates is None else list(self.candidates)
        return [count for count in mine if count <= left]

    def complete(self, placed: int) -> bool:
        """Return whether a plan may have so many stages."""
        return placed > 0 and (self.stages is None or placed == self.stages)

    def allows(self, replicas: Sequence[int]) -> bool:
        """Return whether a plan may have these replicas of its stages, first to last."""
        placed = devices = 0
        for count in reversed(replicas):
            if count not in self.choices(placed, devices):
                return False
            placed, devices = placed + 1, devices + count
        return self.complete(placed)


@dataclass(frozen=True)
class Label:
    """Stages from a cut to the end: devices, number of stages, and warm-up × replicas of the first of them."""

    devices: int
    stages: int
    product: int


@dataclass
class Group:
    """Steps that add a stage with the same replicas and micro-batches in flight: labels before and after."""

    replicas: int
    held: int
    last: bool
    """Whether the stage is the last one."""
    ahead: int = 0
    """At least so many forward passes before its first backward pass, if it matters."""
    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)


class TooManyLabels(Exception):
    """There are more labels than the search can store."""


class Labels:
    """The labels that a shape allows and the steps between them; number 0 is the empty plan.

    With the count "exact", the warm-up of each stage is known, and so its memory. With "least", memory counts the
    fewest micro-batches in flight that a stage can have, so that what does not fit never fits; with "most", the most,
    so that what fits always fits: warm-up × replicas is below 2 · devices. Without `by_stages`, the number of stages
    does not matter. With `ahead`, steps differ by the most forward passes that a stage can make before its first
    backward pass: w · r is at most 2 · devices − stages, including the stages behind it. With "vanishing", there may be
    more stages behind it than the label has, on all other devices.
    """

    def __init__(
        self, shape: Shape, count: str, *, by_stages: bool, most: int = 1 << 30, ahead: str | None = None
    ) -> None:
        self.shape = shape
        fixed = (shape.stages, shape.replicas, shape.most_stages)
        self.by_stages = by_stages or any(value is not None for value in fixed)
        start = Label(0, 0, 0)
        self.labels = [start]
        numbers = {start: 0}
        groups: dict[tuple[int, int, bool, int], Group] = {}
        for at, label in enumerate(self.labels):
            last = at == 0
            for replicas in shape.choices(label.stages, label.devices):
                product = {"exact": label.product, "least": 1, "most": 2 * label.devices - 1}[count]
                warm_up = 1 if last else warm_up_before(product, replicas)
                depth = in_flight(warm_up, replicas, shape.micro_batches)
                following = Label(
                    label.devices + replicas,
                    label.stages + 1 if self.by_stages else 1,
                    warm_up * replicas if count == "exact" else 1,
                )
                if following not in numbers:
                    numbers[following] = len(self.labels)
                    self.labels.append(following)
                    if len(self.labels) > most:
                        raise TooManyLabels
                first = self._ahead(label, replicas, ahead) if ahead is not None else 0
                key = (replicas, depth, last, first)
                group = groups.setdefault(key, Group(*key))
                group.sources.append(at)
                group.targets.append(numbers[following])
        self.groups = list(groups.values())

    def _ahead(self, label: Label, replicas: int, kind: str) -> int:
        """Return the most forward passes before the first backward pass of a stage in front of those of a label."""
        devices = self.shape.devices - replicas if kind == "vanishing" else label.devices
        if devices <= 0:  # nothing is behind it
            return 1
        same = self.shape.same_replicas
        product = devices // same * same if same is not None else 2 * devices - label.stages
        return in_flight(warm_up_before(max(1, product), replicas), replicas, self.shape.micro_batches)

    def __len__(self) -> int:
        return len(self.labels)

    def finals(self) -> Sequence[int]:
        """Return the labels that a complete plan may have, in the order of devices, then of stages."""
        numbers = [
            number
            for number, label in enumerate(self.labels)
            if (self.shape.complete(label.stages) if self.by_stages else number > 0)
        ]
        return sorted(numbers, key=lambda number: (self.labels[number].devices, self.labels[number].stages))
