"""Select the groups of respondents to publish, so that all published numbers together reveal no small group.

k is the least number of respondents about whom anything is published. Sets of respondents are bit masks.

**The rule.** A breakdown publishes some of its groups; all others (the small ones, those whose answers would reveal a
small one by subtraction, and empty ones) form one rest. So each breakdown cuts the respondents into *blocks*: the
published groups, and the rest. All published breakdowns together cut them into *cells*, the intersections of their
blocks. Groups are published only as long as **every cell has no respondent or at least k**, including the cells of the
rests. The same applies to each item among those who answered it: an item is published in fewer groups, until in each of
the cells of its own blocks nobody or at least k answered it. The first breakdown has precedence; a later one is
published as far as it is compatible with those before it.

**Why no set of 1…k−1 respondents is determined.** All published numbers (counts, means, medians, quartiles, shares,
intervals, n, missing, and their differences) follow from (a) the sizes of blocks and (b) for each item, how often each
answer, including none, was given in each of the item's blocks. Rounding removes information and adds none.

1. *A group in a rest.* Its name occurs in no published number. Give all its members the name of another group of the
   same rest, or give members of the rest its name: all published numbers stay. So its size may be anything from 0 to
   the size of the rest. The same holds for its members with a certain answer, and for its part of any block of another
   breakdown. If the rest has one name only, the group is the rest: at least k, and its intersections are cells, as in
   (2).
2. *An intersection of blocks.* It is a union of cells, so it has nobody or at least k, even if its size is known.
3. *An item in a block in which it is not published.* Exchange the answers of two respondents of one cell of this item,
   or their lack of an answer: all published numbers stay. So the number of answers in the block is determined only if
   each of the item's cells lies within the block or outside, or if all in the cell answered, or none did. Within:
   nobody or at least k. All answered: the part in the block is a union of cells, nobody or at least k. Their sum is
   never 1…k−1.

Group sizes are often known from elsewhere, because the report names the participants. So an item is published in groups
only if in no cell of their rest all gave the same answer, or none; it would be the answer of the small groups in it.
Then two of the cell who gave different answers can exchange them, and even with all sizes known it is not determined
how many of a group in the rest gave which answer.

How many gave each answer *within* all respondents, or within a published group, is published and may be 1: k limits the
groups, not the levels. If all respondents, or all of a published group, gave the same answer, everybody's is known.

The sizes of the groups of a question that identifies people (a breakdown's, or one whose options are the event's teams,
kinds or days) are published only if all of them have nobody or at least k; for several choices this holds for each
combination that was chosen. By (1), with exchanges of names in place of new names, these sizes add nothing to the
above. Such a question is never published within a group, because that would be an intersection.

**A reader who also knows this rule** and asks which sizes would have led to the same published groups finds no size of
1…k−1 either: a rest in which each group has k−1 grows further, and of equally small groups all or none are left out.
This is not proved but enumerated: for one breakdown, all sizes of up to four groups and twenty respondents
(tests/unit/survey/test_suppression.py); the exception is k = 2 with two respondents.

The same answers always give the same results, and only closed surveys are published, so two publications have no
difference.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """The respondents' answers to one item."""

    answered: int
    """Those who answered it."""
    alike: tuple[int, ...] = ()
    """For each answer those who gave it, for several choices also those who did not, and those who gave none.

    An answer that everybody gave is left out.
    """


def choose(
    groups: Mapping[str, int],
    cells: Sequence[int],
    k: int,
    candidates: Container[str] | None = None,
    answers: Said | None = None,
) -> tuple[str, ...]:
    """Return the groups (name → their respondents) that may be published, in their order.

    `groups`: all possible ones, including empty ones. `cells`: the disjoint sets into which earlier decisions cut all
    respondents; the result cuts them further, into sets of nobody or at least k. For an item, `answers` contains its
    answers, and sets are counted by those who answered; only `candidates` may be published, and they may be published
    as having no answer.
    """
    everybody = _union(cells)
    answers = answers or Said(everybody)
    sizes = {name: (mask & answers.answered).bit_count() for name, mask in groups.items()}

    def small(block: int) -> int:
        """Return a cell with at least one and fewer than k respondents of a block; 0 if there is none."""
        return next((cell for cell in cells if 0 < (block & cell & answers.answered).bit_count() < k), 0)

    def of_one_mind(block: int) -> int:
        """Return a cell in which all of a block answered alike; 0 if there is none."""
        parts = ((cell, block & cell) for cell in cells if block & cell)
        return next((cell for cell, part in parts if any(part & ~same == 0 for same in answers.alike)), 0)

    chosen = [
        name for name, mask in groups.items()
        if (mask if candidates is None else name in candidates) and not small(mask)
    ]  # fmt: skip
    while any(sizes[name] for name in chosen):
        remaining = everybody & ~_union(groups[name] for name in chosen)
        left = [sizes[name] for name in groups if name not in chosen]
        # If each group of a rest of small ones is as large as a small one can be, each size is known.
        full = bool(remaining) and max(left) < k and sum(left) == (k - 1) * len(left)
        cell = small(remaining) or of_one_mind(remaining) or (everybody if full else 0)
        if not cell:
            return tuple(chosen)
        # The rest has to grow there. All of several equally small groups go, because a selection would be revealing.
        near = [name for name in chosen if groups[name] & cell]
        least = min((sizes[name] for name in near), default=0)
        chosen = [name for name in chosen if near and (name not in near or sizes[name] > least)]
    return ()


def crossed(cells: Sequence[int], blocks: Sequence[int]) -> list[int]:
    """Return the cells after these blocks and the remainder of each cell cut them; empty ones are left out."""
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
