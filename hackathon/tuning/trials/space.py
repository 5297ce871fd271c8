"""The space of trials: one dimension for each `--space NAME=…`, with its values.

`log:a:b` and `lin:a:b` are real numbers, `int:a:b` whole ones, both ends included; `x,y,z` (or one value) are choices,
written as one line of CSV. A dimension accepts only values that the parameter's declaration allows.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hackathon.config.recipe import Parameter
from hackathon.config.records import Scalar
from hackathon.jobs.parameters import read_value
from hackathon.jobs.settings import values_of
from hackathon.text.errors import RequestError
from hackathon.text.messages import Message

LOG, LIN, INT, CHOICE = "log", "lin", "int", "choice"
RANGES = (LOG, LIN, INT)
STEPS = 5
"""Values of a range in a grid."""
DIGITS = 4
"""Significant digits of a drawn real number: more are not distinguishable, and a command line stays readable."""


@dataclass(frozen=True)
class Dimension:
    """One parameter that varies."""

    name: str
    kind: str
    """LOG, LIN, INT or CHOICE."""
    low: float = 0.0
    high: float = 0.0
    """Ends of a range, both included."""
    choices: tuple[Scalar, ...] = ()

    def draw(self, source: random.Random) -> Scalar:
        """Return a random value: uniform, for LOG in the logarithm."""
        if self.kind == CHOICE:
            return source.choice(self.choices)
        if self.kind == INT:
            return source.randint(int(self.low), int(self.high))
        return self.at(source.random())

    def at(self, share: float) -> Scalar:
        """Return the value at a share (0 to 1) of a range."""
        if self.kind == LOG:
            exact = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        else:
            exact = self.low + share * (self.high - self.low)
        if self.kind == INT:
            return min(int(self.high), max(int(self.low), round(exact)))
        return self.rounded(exact)

    def rounded(self, value: float) -> float:
        """Return a real number with DIGITS significant digits, inside the range."""
        return min(self.high, max(self.low, float(f"{value:.{DIGITS}g}")))

    @property
    def grid(self) -> tuple[Scalar, ...]:
        """The values of a grid: all choices, all whole numbers up to STEPS, else STEPS evenly spaced."""
        if self.kind == CHOICE:
            return self.choices
        if self.kind == INT and self.high - self.low < STEPS:
            return tuple(range(int(self.low), int(self.high) + 1))
        if self.low == self.high:
            return (self.at(0.0),)
        return tuple(dict.fromkeys(self.at(step / (STEPS - 1)) for step in range(STEPS)))

    @property
    def size(self) -> float:
        """Number of its values; infinite for real numbers."""
        if self.kind == CHOICE:
            return float(len(self.choices))
        if self.low == self.high:
            return 1.0
        return self.high - self.low + 1 if self.kind == INT else math.inf

    @property
    def text(self) -> str:
        """Its text after `--space NAME=`, for records and for people."""
        from hackathon.jobs.settings import written

        if self.kind == CHOICE:
            words = [_word(choice) for choice in self.choices]
            text = written(words)
            # spaces at the ends would be lost, and `log:1:2` would be a range
            return text if text == text.strip() and text.partition(":")[0] not in RANGES else written(words, True)
        low, high = (int(self.low), int(self.high)) if self.kind == INT else (self.low, self.high)
        return f"{self.kind}:{low!r}:{high!r}"


Space = Sequence[Dimension]


def read_space(
    texts: Sequence[str], declared: Mapping[str, Parameter], fixed: Mapping[str, object] | None = None
) -> tuple[Dimension, ...]:
    """Return the dimensions in `NAME=…` texts, in order.

    `declared`: the parameters of the program; `fixed`: those set with `-p`. Raises RequestError: no dimension, invalid
    form, an undeclared name (with the most similar one), a repeated or fixed name, a value that does not fit.
    """
    dimensions: dict[str, Dimension] = {}
    for text in texts:
        name, sign, values = text.partition("=")
        name = name.strip()
        if not sign or not name or not values.strip():
            raise RequestError(
                "tune.bad_space",
                "cannot read --space {text}",
                hint="Examples: lr=log:1e-4:1, momentum=lin:0.5:0.99, layers=int:2:6, batch_size=32,64,128",
                text=text,
            )
        if name not in declared:
            raise _unknown(name, declared)
        if name in dimensions:
            raise RequestError("tune.twice", "{name} is given twice in --space", name=name)
        if name in (fixed or {}):
            raise RequestError("tune.fixed", "{name} is in --space and in -p", name=name)
        dimensions[name] = _dimension(name, values.strip(), declared[name])
    if not dimensions:
        raise RequestError(
            "tune.no_space",
            "nothing varies: --space is missing",
            hint="Example: --space lr=log:1e-4:1. Parameters: {names}",
            names=", ".join(declared) or "–",
        )
    return tuple(dimensions.values())


def _unknown(name: str, declared: Mapping[str, object]) -> RequestError:
    import difflib

    near = difflib.get_close_matches(name.replace("-", "_"), declared, 1)
    key = (
        Message("tune.unknown_near", "the program has no parameter {name}; did you mean {near}?")
        if near
        else Message(
            "tune.unknown",
            "the program has no parameter {name}; known: {names}",
            hint="Declare it under `parameters:` in project.yaml and use it in `command`.",
        )
    )
    return RequestError(key, name=name, near=near[0] if near else "", names=", ".join(declared) or "–")


def _dimension(name: str, text: str, parameter: Parameter) -> Dimension:
    kind, colon, bounds = text.partition(":")
    if colon and kind in RANGES:
        return _range(name, kind, bounds, text, parameter)
    try:
        words = values_of(text)
    except ValueError:
        raise RequestError(
            "tune.bad_values",
            "cannot read the values of {name}: {text}",
            hint="Separate values with commas; put a value that contains a comma in quotation marks.",
            name=name,
            text=text,
        ) from None
    choices: dict[tuple[type, Scalar], Scalar] = {}
    for word in words:
        value = read_value(name, parameter, word)
        if isinstance(value, float) and not math.isfinite(value):
            raise RequestError(
                "jobs.parameter_type",
                "parameter {name}: {value!r} is not {type}",
                name=name,
                value=word,
                type=parameter.type,
            )
        choices.setdefault((type(value), value), value)
    return Dimension(name, CHOICE, choices=tuple(choices.values()))


def _range(name: str, kind: str, bounds: str, text: str, parameter: Parameter) -> Dimension:
    ends = bounds.split(":")
    try:
        low, high = (float(int(end)) if kind == INT else float(end) for end in ends)
    except (ValueError, OverflowError):
        raise RequestError(
            "tune.bad_range",
            "{name}={text} is not a range of two numbers",
            hint="Give both ends: log:1e-4:1, lin:0:1; whole numbers with int: int:2:6",
            name=name,
            text=text,
        ) from None
    if not (math.isfinite(low) and math.isfinite(high)) or (kind == INT and max(abs(low), abs(high)) > 2**53):
        raise RequestError(
            "tune.bad_range",
            "{name}={text} is not a range of two numbers",
            hint="Give both ends: log:1e-4:1, lin:0:1; whole numbers with int: int:2:6",
            name=name,
            text=text,
        )
    if low > high:
        raise RequestError(
            "tune.reversed",
            "the range {text} of {name} begins above its end",
            hint="Write the smaller number first.",
            name=name,
            text=text,
        )
    if kind == LOG and low <= 0.0:
        raise RequestError(
            "tune.log_not_positive",
            "the logarithmic range {text} of {name} must be above zero",
            hint="Use lin: for ranges that contain zero.",
            name=name,
            text=text,
        )
    if parameter.choices is not None or parameter.type in ("str", "bool"):
        raise RequestError(
            "tune.range_of_words",
            "{name} has the type {type} or fixed choices; a range does not fit",
            hint="List the values: NAME=a,b,c",
            name=name,
            type=parameter.type,
        )
    if kind != INT and parameter.type == "int":
        raise RequestError(
            "tune.range_of_whole",
            "{name} takes whole numbers",
            hint="Use {name}=int:{low}:{high}",
            name=name,
            low=math.ceil(low),
            high=math.floor(high),
        )
    for end in (low, high):
        read_value(name, parameter, int(end) if kind == INT else end)  # its limits
    return Dimension(name, kind, low, high)


def _word(value: Scalar) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
