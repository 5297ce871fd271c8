"""Somebody who has everything that was published about a survey and computes what follows from it.

The unknowns are how many respondents each crossing of all breakdowns has (those without an answer are a group), and how
many of them gave each answer to each item. Everything published is an equation between them. A number is determined
when its least and its greatest possible value are the same; integer programs find both (HiGHS through SciPy).

The attacker is given more than is printed: instead of means, medians, quartiles and shares of a group the whole
distribution that they were computed from, without any rounding.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_array

from hackathon.config.survey import Survey
from hackathon.survey.records import Answer, SurveySummary

NONE = ""
"""No answer."""


@dataclass(frozen=True)
class Published:
    """What was told: which groups, and which items in them."""

    sizes: frozenset[str]
    """Questions that say who somebody is, with the sizes of all their groups."""
    whole: frozenset[str]
    """Items told of all."""
    groups: Mapping[tuple[str, str], frozenset[str]]
    """(breakdown, group) → items told in it."""


def published(summary: SurveySummary) -> Published:
    """Return what a summary tells."""
    shown = frozenset(item.question.id for item in summary.items if item.shown)
    groups = {
        (breakdown.question.id, group.value): frozenset(item.question.id for item in group.items if item.shown)
        for breakdown in summary.breakdowns
        for group in breakdown.groups
    }
    who = frozenset(summary.survey.breakdowns)
    return Published(shown & who, shown - who, groups)


@dataclass
class Attacker:
    """The equations that follow from a publication of these answers, and the questions to them."""

    survey: Survey
    answers: Sequence[Answer]
    told: Published
    pool: list[np.ndarray] = field(default_factory=list)
    """Respondents that would have made the same publication, as solutions found so far."""
    known: dict[bytes, bool] = field(default_factory=dict)
    """Sum of unknowns, as the bytes of its row → whether it is determined: many secrets ask for the same sum."""

    def __post_init__(self) -> None:
        by_id = {question.id: question for question in self.survey.questions}
        self.breakdowns = [each for each in self.survey.breakdowns if each in by_id]
        # a question that must be answered has no group without an answer, and everybody knows that
        self.labels = {
            each: [*by_id[each].options, *([] if by_id[each].required else [NONE])] for each in self.breakdowns
        }
        self.cells = list(product(*self.labels.values()))
        self.items = [each.id for each in self.survey.questions if each.id not in self.breakdowns]
        self.kinds = {
            item: sorted({self.said(answer, item) for answer in self.answers} | {NONE, "never"}) for item in self.items
        }
        self.place: dict[tuple[int, str, str], int] = {}
        for item in self.items:
            for number, kind in product(range(len(self.cells)), self.kinds[item]):
                self.place[number, item, kind] = len(self.cells) + len(self.place)
        self.size = len(self.cells) + len(self.place)
        rows, values = self._equations()
        self.matrix, self.values = csc_array(np.array(rows)), np.array(values)
        self.equations = LinearConstraint(self.matrix, self.values, self.values)
        self.truth = self._true()
        assert np.allclose(self.matrix @ self.truth, self.values)
        self.pool.append(self.truth)

    @staticmethod
    def said(answer: Answer, question: str) -> str:
        return repr(answer.values[question]) if question in answer.values else NONE

    def cell(self, answer: Answer) -> tuple[str, ...]:
        return tuple(str(answer.values.get(each, NONE)) for each in self.breakdowns)

    def _true(self) -> np.ndarray:
        found = np.zeros(self.size)
        for answer in self.answers:
            number = self.cells.index(self.cell(answer))
            found[number] += 1
            for item in self.items:
                found[self.place[number, item, self.said(answer, item)]] += 1
        return found

    def row(self, where: Iterable[int]) -> np.ndarray:
        """Return the sum of these unknowns, as a row of weights: dense, for there are some hundreds at most."""
        found = np.zeros(self.size)
        found[list(where)] = 1
        return found

    def inside(self, parts: Mapping[str, Collection[str]]) -> list[int]:
        """Return the numbers of the crossings that lie in all these parts (breakdown → some of its groups)."""
        wanted = {self.breakdowns.index(each): groups for each, groups in parts.items()}
        return [n for n, cell in enumerate(self.cells) if all(cell[at] in groups for at, groups in wanted.items())]

    def _equations(self) -> tuple[list[np.ndarray], list[float]]:
        true = self._true()
        rows = [self.row(range(len(self.cells)))]
        for number, item in product(range(len(self.cells)), self.items):
            # every respondent of a crossing gave one of the answers, or none
            rows.append(self.row(self.place[number, item, kind] for kind in self.kinds[item]) - self.row([number]))
        blocks: list[tuple[list[int], Iterable[str]]] = [(self.inside({}), self.told.whole)]
        for (breakdown, group), items in self.told.groups.items():
            where = self.inside({breakdown: [group]})
            rows.append(self.row(where))
            blocks.append((where, items))
        for breakdown in self.told.sizes:
            rows += [self.row(self.inside({breakdown: [group]})) for group in self.labels[breakdown]]
        for where, items in blocks:
            for item in items:
                rows += [self.row(self.place[n, item, kind] for n in where) for kind in self.kinds[item]]
        return rows, [float(row @ true) for row in rows]

    def parts(self, breakdown: str) -> dict[str, list[str]]:
        """Return the groups of a breakdown, and what is left of it when those that are told are taken away."""
        rest = [group for group in self.labels[breakdown] if (breakdown, group) not in self.told.groups]
        single = {group: [group] for group in self.labels[breakdown]}
        # without a group that is told the rest is all respondents, whose number is no secret
        return {**single, "(rest)": rest} if len(rest) < len(single) else single

    def determined(self, row: np.ndarray) -> bool:
        """Return whether a sum of unknowns follows from what was published: least = greatest."""
        key = row.tobytes()
        if key not in self.known:
            self.known[key] = self._determined(row)
        return self.known[key]

    def _determined(self, weights: np.ndarray) -> bool:
        true = weights @ self.truth
        if any(abs(weights @ each - true) > 0.5 for each in self.pool):
            return False
        for sign in (1, -1):
            found = milp(
                sign * weights,
                constraints=self.equations,
                integrality=np.ones(self.size),
                bounds=Bounds(0, len(self.answers)),
            )
            assert found.status == 0, found.message
            solution = np.round(found.x)
            assert np.allclose(self.matrix @ solution, self.values)
            self.pool.append(solution)
            if abs(weights @ solution - true) > 0.5:
                return False
        return True

    def opinions(self, k: int) -> Iterable[tuple[str, np.ndarray]]:
        """Yield what must not follow even for who knows how many are in each group: what small groups answered.

        An answer that everybody gave is no secret.
        """
        for breakdown in self.breakdowns:
            for group in self.labels[breakdown]:
                where = self.inside({breakdown: [group]})
                if not self._small(self.row(where), k):
                    continue
                for item in self.items:
                    for kind in self.kinds[item]:
                        gave = self.row(self.place[n, item, kind] for n in where)
                        of_all = self.row(self.place[n, item, kind] for n in range(len(self.cells)))
                        if self._small(gave, k) and of_all @ self.truth < len(self.answers):
                            yield f"{breakdown} {group} who said {kind} to {item}", gave

    def secrets(self, k: int) -> Iterable[tuple[str, np.ndarray]]:
        """Yield what must not follow, with its name: numbers of people in 1…k−1 that are in truth so many.

        Sizes of groups and of their crossings, of what is left without a group, those in them who answered an item,
        and how many gave each answer in a group of 1…k−1.
        """
        for count in range(1, len(self.breakdowns) + 1):
            for some in combinations(self.breakdowns, count):
                for chosen in product(*(self.parts(each).items() for each in some)):
                    names = " and ".join(f"{each} {name}" for each, (name, _) in zip(some, chosen, strict=True))
                    where = self.inside({each: groups for each, (_, groups) in zip(some, chosen, strict=True)})
                    yield from self._of(names, where, k)
                    if count == 1:
                        yield from self._of(f"not {names}", sorted(set(range(len(self.cells))) - set(where)), k)

    def _of(self, name: str, where: Sequence[int], k: int) -> Iterable[tuple[str, np.ndarray]]:
        people = self.row(where)
        hidden = self._small(people, k)
        if hidden:
            yield name, people
        for item in self.items:
            answered = self.row(self.place[n, item, kind] for n in where for kind in self.kinds[item] if kind != NONE)
            few = self._small(answered, k)
            if few:
                yield f"{name} who answered {item}", answered
            if hidden or few:
                for kind in self.kinds[item]:
                    gave = self.row(self.place[n, item, kind] for n in where)
                    if self._small(gave, k) and (hidden or kind != NONE):
                        yield f"{name} who said {kind} to {item}", gave

    def _small(self, row: np.ndarray, k: int) -> bool:
        return bool(0.5 < row @ self.truth < k - 0.5)

    def found(self, k: int) -> list[str]:
        """Return the names of what must not follow from the publication and does."""
        return [name for name, row in self.secrets(k) if self.determined(row)]

    def opinions_found(self, k: int) -> list[str]:
        """Return the names of what small groups answered and what follows from the publication."""
        return [name for name, row in self.opinions(k) if self.determined(row)]
