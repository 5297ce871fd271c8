"""The environment in which job templates run: no objects of Python, no calls, limited size and steps.

`lint` refuses forbidden constructs in all but the shipped templates. This is the second barrier: a template that
passes finds no global, no filter, no attribute and nothing to call, and it cannot run for ever.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.runtime import BlockReference, Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hackathon.access.private import private_cache
from hackathon.text.messages import _

LONGEST = 1 << 20
"""Most letters of a script; the shipped ones have 20,000."""
STEPS = 20_000
"""Limit for the scripts of one request: header values (a list counts by its length), templates, `super()`."""
_OPENED = 100
"""Steps for opening a template or `super()`."""
_VERSION = "2"
"""Changes with the compiler's settings here, so that older compiled code is not loaded."""


class TooMuchError(jinja2.TemplateRuntimeError):
    """A template that runs for ever, or writes without end."""


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """The environment of job templates: expressions see only the values that they receive."""

    def __init__(self, loader: jinja2.BaseLoader, cache: Path) -> None:
        super().__init__(
            loader=loader,
            undefined=jinja2.StrictUndefined,
            # bash's ${#array[@]} must not open a comment
            comment_start_string="<#",
            comment_end_string="#>",
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
            bytecode_cache=private_cache(cache, _VERSION),
        )
        for table in (self.globals, self.filters, self.tests):
            table.clear()
        self._steps = 0

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > STEPS:
            raise TooMuchError(_("more than {count} steps", count=STEPS))

    def concat(self, parts: Iterable[str]) -> str:
        """Join the output of a template or a block, up to LONGEST letters."""
        texts, length = [], 0
        for part in parts:
            texts.append(part)
            length += len(part)
            if length > LONGEST:
                raise TooMuchError(_("more than {count} characters", count=LONGEST))
        return "".join(texts)

    def get_template(self, *arguments: Any, **options: Any) -> jinja2.Template:
        """Return a template; count it, so that a circle of includes ends."""
        self._count(_OPENED)
        return super().get_template(*arguments, **options)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a value of the header; nothing else has attributes."""
        if not isinstance(obj, dict):
            raise SecurityError(f".{attribute}")
        value = obj.get(attribute, "")
        self._count(len(value) if isinstance(value, (list, str)) else 1)
        return value

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Refuse: no value has items."""
        raise SecurityError("[…]")

    def call(self, context: Context, obj: Any, *arguments: Any, **options: Any) -> Any:
        """Return the text of `super()`; nothing else can be called."""
        if isinstance(obj, jinja2.Undefined):
            obj()  # raises the error of a missing parent block
        # Jinja adds arguments of its own, which are not the template's
        if not isinstance(obj, BlockReference) or arguments or options.keys() - {"_loop_vars", "_block_vars"}:
            raise SecurityError("(…)")
        self._count(_OPENED)
        return obj()
