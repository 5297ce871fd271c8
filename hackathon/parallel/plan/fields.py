"""Typed reading of graph.json and devices.json; errors name the wrong field, as other programs write these files."""

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hackathon.text.errors import RequestError
from hackathon.text.files import LARGEST, open_regular
from hackathon.text.messages import N_, NP_, _
from hackathon.text.printable import printable

MOST = 1e30
"""Most seconds, bytes and bytes per second: sums of larger ones could exceed the range of a float."""


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file. Raises RequestError if it cannot be read or is not a JSON object."""
    name = printable(str(path))
    try:
        with open_regular(path) as stream:
            if os.fstat(stream.fileno()).st_size > LARGEST:
                raise RequestError("plan.too_large", "{path}: larger than {limit} bytes", path=name, limit=LARGEST)
            value = json.loads(stream.read().decode("utf-8"))
    except OSError as error:
        raise RequestError(
            "plan.unreadable", "{path}: cannot be read: {reason}", path=name, reason=error.strerror or str(error)
        ) from None
    except (ValueError, RecursionError):
        raise RequestError("plan.not_json", "{path}: not a JSON file", path=name) from None
    return FieldReader(name).mapping(value, "")


class FieldReader:
    """Reads the fields of one file; every error names file, field and problem."""

    def __init__(self, file: str) -> None:
        self.file = file

    def refuse(self, field: str, problem: str, **values: object) -> RequestError:
        """Return the error for a field; `problem` is the message that says what is wrong with it."""
        texts = {name: printable(str(value)[:80]) for name, value in values.items()}
        text = _(problem, **texts) if texts else _(problem)
        return RequestError(
            "plan.field",
            "{path}: {field}: {problem}",
            hint="The fields are described in docs/reference/plan-files.md.",
            path=self.file,
            field=printable(field) or "–",
            problem=text,
        )

    def mapping(self, value: object, field: str) -> dict[str, Any]:
        """Return a JSON object. Raises RequestError."""
        if not isinstance(value, dict):
            raise self.refuse(field, N_("must be a JSON object"))
        return value

    def listing(self, value: object, field: str) -> list[Any]:
        """Return a JSON list. Raises RequestError."""
        if not isinstance(value, list):
            raise self.refuse(field, N_("must be a list"))
        return value

    def known(self, value: Mapping[str, Any], names: Iterable[str], field: str) -> None:
        """Refuse a key that resembles one of `names`; other keys belong to the program that wrote the file."""
        from difflib import get_close_matches

        names = tuple(names)
        for key in value:
            if key not in names and (near := get_close_matches(key, names, 1, 0.8)):
                raise self.refuse(_below(field, key), N_("unknown field; did you mean {name}?"), name=near[0])

    def version(self, value: Mapping[str, Any]) -> None:
        """Refuse a file of another schema version than 1."""
        version = value.get("schema_version", 1)
        if isinstance(version, bool) or version != 1:
            raise self.refuse("schema_version", N_("only schema version 1 can be read"))

    def number(
        self, value: Mapping[str, Any], name: str, field: str, default: float | None = None, *, positive: bool = False
    ) -> float:
        """Return a finite number that is not negative (with `positive`: above 0). Raises RequestError."""
        path = _below(field, name)
        if name not in value:
            if default is None:
                raise self.refuse(path, N_("missing"))
            return default
        number = value[name]
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise self.refuse(path, N_("must be a number"))
        if isinstance(number, float) and not math.isfinite(number):
            raise self.refuse(path, NP_("plan", "must be a finite number"))
        if number < 0:
            raise self.refuse(path, N_("must not be negative"))
        if number == 0 and positive:
            raise self.refuse(path, N_("must be greater than 0"))
        if number > MOST:
            raise self.refuse(path, N_("too large"))
        return float(number)

    def count(self, value: Mapping[str, Any], name: str, field: str, most: int) -> int:
        """Return a whole number from 1 to `most`. Raises RequestError."""
        number = self.number(value, name, field, positive=True)
        if number != int(number):
            raise self.refuse(_below(field, name), N_("must be a whole number"))
        if number > most:
            raise self.refuse(_below(field, name), N_("too large"))
        return int(number)

    def name(self, value: object, field: str) -> str:
        """Return a text that is not empty and can be written as UTF-8. Raises RequestError."""
        if not isinstance(value, str) or not value:
            raise self.refuse(field, N_("must be a text that is not empty"))
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.refuse(field, N_("must be a text that is not empty")) from None
        return value


def _below(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name
