"""`dataclass(frozen=True)` for classes that are cheap to define: the records that `hackathon render` defines first.

The one of the standard library compiles six methods for each class: a quarter of the time of `render`, which defines
forty records and creates few of each. Here all records share their methods, which look at the fields when they are
called. Creating a record takes a few times as long, so what a command has thousands of stays with the standard library.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the checker of types knows the one of the standard library
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool) -> Any:
        """Return a decorator that does what the one of the standard library does, without `__post_init__`.

        `frozen`: always True.
        """
        assert frozen

        def decorate(cls: type) -> type:
            dataclasses.dataclass(cls, init=False, repr=False, eq=False)
            for name, method in _METHODS.items():
                setattr(cls, name, method)
            return cls

        return decorate


def _init(self: Any, *values: Any, **named: Any) -> None:
    entries = dataclasses.fields(self)
    if len(values) > len(entries):
        raise TypeError(f"{type(self).__name__} has {len(entries)} fields, and got {len(values)} values")
    contents = self.__dict__
    for entry, value in zip(entries, values, strict=False):
        contents[entry.name] = value
    for entry in entries[len(values) :]:
        if entry.name in named:
            contents[entry.name] = named.pop(entry.name)
        elif entry.default is not dataclasses.MISSING:
            contents[entry.name] = entry.default
        elif entry.default_factory is not dataclasses.MISSING:
            contents[entry.name] = entry.default_factory()
        else:
            raise TypeError(f"{type(self).__name__} got no value for {entry.name!r}")
    if named:
        raise TypeError(f"{type(self).__name__} got unknown fields or a second value: {', '.join(named)}")


def _repr(self: Any) -> str:
    values = ", ".join(
        f"{entry.name}={getattr(self, entry.name)!r}" for entry in dataclasses.fields(self) if entry.repr
    )
    return f"{type(self).__qualname__}({values})"


def _equals(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    names = [entry.name for entry in dataclasses.fields(self) if entry.compare]
    return all(getattr(self, name) == getattr(other, name) for name in names)


def _hash(self: Any) -> int:
    counted = (entry for entry in dataclasses.fields(self) if (entry.compare if entry.hash is None else entry.hash))
    return hash(tuple(getattr(self, entry.name) for entry in counted))


def _refuse_value(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_removal(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


_METHODS = {
    "__init__": _init, "__repr__": _repr, "__eq__": _equals, "__hash__": _hash, "__setattr__": _refuse_value,
    "__delattr__": _refuse_removal,
}  # fmt: skip
