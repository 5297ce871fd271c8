"""Where a captured graph may be cut, and the stages between some cuts: what tests cut their networks by."""

from collections.abc import Iterable

from hackathon.parallel.live.capture import Traced


def legal_cuts(traced: Traced) -> list[int]:
    """Return the positions in the list of operators before which the graph may be cut."""
    position = {name: at for at, name in enumerate(traced.operators)}
    closed = [0] * (len(traced.operators) + 1)
    for group in traced.glued:
        positions = [position[name] for name in group]
        closed[min(positions) + 1] += 1
        closed[max(positions) + 1] -= 1
    cuts, depth = [], 0
    for at in range(1, len(traced.operators)):
        depth += closed[at]
        if not depth:
            cuts.append(at)
    return cuts


def at_boundaries(traced: Traced, boundaries: Iterable[int]) -> dict[str, int]:
    """Return operator → stage for stages that begin at these positions in the list of operators."""
    starts = sorted(boundaries)
    stage_of, stage = {}, 0
    for at, name in enumerate(traced.operators):
        while stage < len(starts) and at >= starts[stage]:
            stage += 1
        stage_of[name] = stage
    return stage_of
