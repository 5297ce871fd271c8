"""The result of `hackathon speedup`: the table of options, the combined winners, and the settings to apply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.config.records import Scalar
from hackathon.text.json_fields import count_of, listed, mapping_of, text_of
from hackathon.text.numbers import finite, integer
from hackathon.tuning.intervals import FALSE_CLAIMS
from hackathon.tuning.options import NotTried, Option
from hackathon.tuning.verdict import Comparison, OptionRow, winners

FACT = "speedup"
"""Name of the fact: `client/speedup.json`."""
MOST = 200
"""Options of a stored table that are read."""


@dataclass(frozen=True)
class SpeedupResult:
    """The measurements of one or two jobs."""

    run: str
    second: str | None
    """The run that measured the combined winners; None with less than two of them."""
    compared: Comparison
    both: Comparison | None
    left: tuple[NotTried, ...]

    @property
    def together(self) -> OptionRow | None:
        """The combined winners; None when they were not measured."""
        return self.both.rows[0] if self.both and self.both.rows else None

    @property
    def applied(self) -> Mapping[str, Scalar]:
        """The settings to apply: all winners if their combination wins too, else the best one; empty without any."""
        best = winners(self.compared.rows)
        if self.together is not None and self.together.wins:
            return self.together.settings
        return best[0].settings if best else {}

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        compared, both = self.compared, self.together
        return {
            "schema_version": 1, "run": self.run, "second_run": self.second, "metric": compared.metric,
            "unit": compared.unit, "rounds": compared.rounds, "false_claims": FALSE_CLAIMS,
            "baseline": {
                "value": compared.value, "min": compared.low, "max": compared.high, "shares": dict(compared.shares),
                "memory_bytes": compared.memory,
            },
            "options": [row.as_json() for row in compared.rows],
            "together": both.as_json() if both else None,
            "not_tried": [
                {"name": option.name, "needs": option.why, "lines": option.lines or None} for option in self.left
            ],
            "apply": dict(self.applied),
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "SpeedupResult | None":
        """Return a stored result from arbitrary JSON, with reasons in the current language; None without one.

        Invalid fields become unknown.
        """
        base = mapping_of(value.get("baseline"))
        middle = finite(base.get("value"))
        if middle is None:
            return None
        shares = {text_of(name): share for name, part in mapping_of(base.get("shares")).items()
                  if (share := finite(part)) is not None}  # fmt: skip

        def table(rows: object) -> Comparison:
            return Comparison(
                rows=tuple(OptionRow.from_json(mapping_of(row), shares) for row in listed(rows)[:MOST]),
                metric=text_of(value.get("metric")),
                unit=text_of(value.get("unit")),
                rounds=count_of(value.get("rounds")),
                value=middle,
                low=finite(base.get("min")),
                high=finite(base.get("max")),
                shares=shares,
                memory=integer(base.get("memory_bytes")),
            )

        both = mapping_of(value.get("together"))
        left = (mapping_of(entry) for entry in listed(value.get("not_tried"))[:MOST])
        return cls(
            run=text_of(value.get("run")),
            second=text_of(value.get("second_run")) or None,
            compared=table(value.get("options")),
            both=table([both]) if both else None,
            left=tuple(
                NotTried(text_of(entry.get("name")), why, text_of(entry.get("lines")))
                for entry in left
                if (why := entry.get("needs")) in ("lines", "gpu", "there")
            ),
        )


def together(best: Sequence[OptionRow]) -> Option:
    """Return the winners as one option. Its loss is compared: each winner keeps it, but their combination may not."""
    settings: dict[str, Scalar] = {}
    for row in best:
        settings |= row.settings
    untouched = all(row.loss == "untouched" for row in best)
    return Option(" + ".join(row.name for row in best), "together", "nothing" if untouched else "rounding", settings)
