"""Parameters of a training program: reading, checking, scaling in a study, and their place in the command."""

from collections.abc import Mapping

from hackathon.config.recipe import Parameter, Scaling
from hackathon.config.records import Scalar
from hackathon.text.errors import RequestError
from hackathon.text.light_dataclass import dataclass

_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


def read_value(name: str, parameter: Parameter, value: Scalar) -> Scalar:
    """Return the value in the parameter's type; raises RequestError if it does not fit type, choices or limits."""
    result: Scalar
    try:
        if parameter.type == "bool":
            text = str(value).lower()
            if text not in _TRUE | _FALSE:
                raise ValueError
            result = text in _TRUE
        elif parameter.type == "int":
            number = float(value) if isinstance(value, float) else int(value)
            if number != int(number):
                raise ValueError
            result = int(number)
        elif parameter.type == "float":
            result = float(value)
        else:
            result = str(value)
    except (ValueError, OverflowError):
        raise RequestError(
            "jobs.parameter_type",
            "parameter {name}: {value!r} is not {type}",
            name=name,
            value=value,
            type=parameter.type,
        ) from None
    if parameter.choices is not None and result not in parameter.choices:
        raise RequestError(
            "jobs.parameter_choice",
            "parameter {name}: {value!r} is not one of {choices}",
            name=name,
            value=value,
            choices=", ".join(str(choice) for choice in parameter.choices),
        )
    if isinstance(result, (int, float)) and not isinstance(result, bool):
        if parameter.min is not None and not result >= parameter.min:
            raise RequestError(
                "jobs.parameter_low",
                "parameter {name}: {value} is below {limit}",
                name=name,
                value=value,
                limit=f"{parameter.min:g}",
            )
        if parameter.max is not None and not result <= parameter.max:
            raise RequestError(
                "jobs.parameter_high",
                "parameter {name}: {value} is above {limit}",
                name=name,
                value=value,
                limit=f"{parameter.max:g}",
            )
    return result


@dataclass(frozen=True)
class Values:
    """Parameter values with their origins."""

    values: dict[str, Scalar]
    origins: dict[str, str]


def choose_values(declared: Mapping[str, Parameter], layers: list[tuple[str, Mapping[str, Scalar]]]) -> Values:
    """Return the value of every parameter: that of the first layer that has one, else the declared default.

    `layers` are (origin, values), highest precedence first. Raises RequestError for a name that is not declared.
    """
    for origin, layer in layers:
        for name in layer:
            if name not in declared:
                import difflib

                from hackathon.jobs.origins import origin_text

                near = difflib.get_close_matches(name, declared, 1)
                names = ", ".join(declared) or "–"
                raise RequestError(
                    "jobs.parameter_unknown",
                    "there is no parameter {name!r} ({origin}); did you mean {near}?",
                    hint="known parameters: {known}",
                    name=name,
                    origin=origin_text(origin),
                    near=near[0] if near else names,
                    known=names,
                )
    values: dict[str, Scalar] = {}
    origins: dict[str, str] = {}
    for name, parameter in declared.items():
        for origin, layer in layers:
            if name in layer:
                values[name], origins[name] = read_value(name, parameter, layer[name]), origin
                break
        else:
            if parameter.default is not None:
                values[name], origins[name] = read_value(name, parameter, parameter.default), "default"
    return Values(values, origins)


def scaled(values: Values, declared: Mapping[str, Parameter], scaling: Scaling, mode: str, processes: int) -> Values:
    """Return the values of one point of a study.

    weak: the learning rate is multiplied by the processes (Goyal et al. 2017, the batch per process stays). strong: the
    batch per process is the value for one process divided by the processes, so that the global batch stays; raises
    RequestError if that does not divide evenly. Nothing changes if the program divides the batch itself.
    """
    changed, origins = dict(values.values), dict(values.origins)
    rate = scaling.weak.scale_learning_rate
    divide = scaling.strong.divide
    if mode == "weak" and rate and isinstance(value := changed.get(rate), (int, float)):
        changed[rate] = value * processes
        origins[rate] = f"{origins[rate]} × {processes}"
    if mode == "strong" and not scaling.strong.by_program:
        if not divide:
            raise RequestError(
                "jobs.strong_needs_divide",
                "strong scaling needs to know which parameter holds the batch per process",
                hint="add `scaling: {{strong: {{divide: batch_size}}}}` to project.yaml, or `{{by_program: true}}` "
                "in the place of `{{divide: …}}` if the program divides its batch itself",
            )
        value = changed.get(divide)
        if not isinstance(value, int) or isinstance(value, bool) or value % processes:
            raise RequestError(
                "jobs.strong_not_even",
                "strong scaling: {name}={value} cannot be divided evenly by {processes} processes",
                hint="choose {name} as a multiple of the largest process count",
                name=divide,
                value=value,
                processes=processes,
            )
        changed[divide] = read_value(divide, declared[divide], value // processes)
        origins[divide] = f"{origins[divide]} ÷ {processes}"
    return Values(changed, origins)


def option_words(values: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Return `--name value` words; a true bool is only the option, a false one is left out."""
    words: list[str] = []
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words += [option] if value else []
        elif isinstance(value, str) and value.startswith("-"):
            words.append(f"{option}={value}")
        else:
            words += [option, str(value)]
    return tuple(words)
