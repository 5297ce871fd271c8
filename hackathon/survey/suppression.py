"""Which groups of respondents may be told, so that no small one can be worked out from all that is told together.

k is the least number of respondents of whom anything is told. Sets of respondents are bit masks.

**The rule.** A breakdown tells some of its groups; all others – the small ones, those whose answers would give a small
one away by subtraction, and those that nobody is in – are one rest. So each breakdown cuts the respondents into
*blocks*: the groups that are told, and the rest. All breakdowns that are told cut them into *cells*, their blocks
crossed with each other. Groups are told only as far as **every cell has no respondent or at least k**, the cells of the
rests among them. Likewise for each item among those who answered it: an item is told in fewer groups, until in the
cells that its own blocks make nobody or at least k answered it. The first breakdown has precedence; a later one is
told as far as it fits to those before it.

**Why nothing of 1…k−1 respondents is determined.** All published numbers – counts, means, medians, quartiles, shares,
intervals, n, missing, and what is left when they are subtracted – follow from (a) the sizes of blocks and (b) for each
item, how often each answer (none is one, too) was given in each of the item's blocks. Rounding takes away, never adds.

1. *A group in a rest.* Its name occurs in nothing published. Give all its members the name of another group of the same
   rest, or members of the rest its name: all published numbers stay. So its size may be 0 as well as the whole rest,
   and the same holds for those of its members who gave some answer, and for its share of any block of another
   breakdown. If the rest has one name only, its group is the rest: at least k, and its crossings are cells, as in (2).
2. *A crossing of blocks.* It is a union of cells: it has nobody or at least k, even for who would know it exactly.
3. *An item in a block in which it is not told.* Exchange what two respondents of one cell of this item answered to it,
   or that they did not: all published numbers stay. So how many in the block answered is determined only if each of
   the item's cells lies within the block or outside, or all in the cell answered, or none did. Within: nobody or at
   least k. All answered: the part in the block is a union of cells, nobody or at least k. Their sum is no 1…k−1.

Group sizes are often known from elsewhere: who took part is in the report. So an item is told in groups only if in no
cell of their rest all gave the same answer, or none; it would be that of the small groups in it. Then two of the cell
who gave different answers can exchange them, and even with all sizes known it is not determined how many of a group in
the rest gave which answer.

How many gave each answer *within* all, or within a group that is told, is told and may be 1: k bounds the groups, not
the levels. Where all respondents, or all of a group that is told, gave the same answer, everybody's is known.

The sizes of the groups of a question that says who somebody is (a breakdown's, or one whose options are the event's
teams, kinds or days) are told only if all of them have nobody or at least k; of several choices this holds for each
combination that was chosen. By (1), with exchanges of names in place of new names, these sizes add nothing to the
above. Such a question is never told within a group: that would be a crossing.

**Who knows this rule, too,** and asks which sizes would have led to the same groups being told, finds no size of 1…k−1
either: a rest in which each group has k−1 grows further, and of equally small groups all or none are left out. This was
not proved but counted out: for one breakdown, all sizes of up to four groups and twenty respondents
(tests/unit/survey/test_suppression.py); the exception is k = 2 with two respondents.

What is told is always the same for the same answers, and only closed surveys are published: two publications cannot be
subtracted from each other.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """What respondents answered to one item."""

    answered: int
    """Who answered it."""
    alike: tuple[int, ...] = ()
    """For each answer those who gave it, of several choices those who did not, too, and those who gave none; an answer
    that everybody gave is left out."""


def choose(
    groups: Mapping[str, int],
    cells: Sequence[int],
    k: int,
    candidates: Container[str] | None = None,
    answers: Said | None = None,
) -> tuple[str, ...]:
    """Return the groups (name → their respondents) that may be told, in their order.

    `groups`: all that there may be, those without anybody too. `cells`: the disjoint sets that earlier decisions cut
    all respondents into; the result cuts them further, into sets of nobody or at least k.
    For an item `answers` has its answers, and sets are counted by who answered; only `candidates` may be told, and they
    may be told to have no answer.
    """
    everybody = _union(cells)
    answers = answers or Said(everybody)
    sizes = {name: (mask & answers.answered).bit_count() for name, mask in groups.items()}

    def small(block: int) -> int:
        """Return a cell that has fewer than k of a block, and somebody; 0 when there is none."""
        return next((cell for cell in cells if 0 < (block & cell & answers.answered).bit_count() < k), 0)

    def of_one_mind(block: int) -> int:
        """Return a cell in which all of a block answered alike; 0 when there is none."""
        parts = ((cell, block & cell) for cell in cells if block & cell)
        return next((cell for cell, part in parts if any(part & ~same == 0 for same in answers.alike)), 0)

    chosen = [
        name for name, mask in groups.items()
        if (mask if candidates is None else name in candidates) and not small(mask)
    ]  # fmt: skip
    while any(sizes[name] for name in chosen):
        remaining = everybody & ~_union(groups[name] for name in chosen)
        left = [sizes[name] for name in groups if name not in chosen]
        # If each group of a rest of small ones is as large as a small one can be, each is known to be.
        full = bool(remaining) and max(left) < k and sum(left) == (k - 1) * len(left)
        cell = small(remaining) or of_one_mind(remaining) or (everybody if full else 0)
        if not cell:
            return tuple(chosen)
        # The rest has to grow there. Of several that are equally small all go: which of them went would tell.
        near = [name for name in chosen if groups[name] & cell]
        least = min((sizes[name] for name in near), default=0)
        chosen = [name for name in chosen if near and (name not in near or sizes[name] > least)]
    return ()


def crossed(cells: Sequence[int], blocks: Sequence[int]) -> list[int]:
    """Return the cells that these blocks and what is left of each cell cut the cells into; empty ones are left out."""
    remaining = _union(cells) & ~_union(blocks)
    return [part for cell in cells for block in (*blocks, remaining) if (part := cell & block)]


def all_large(masks: Sequence[int], k: int) -> bool:
    """Return whether each set has nobody or at least k respondents."""
    return all(mask.bit_count() == 0 or mask.bit_count() >= k for mask in masks)


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
