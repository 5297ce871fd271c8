"""Where job templates run: no objects of Python, no calls, and an end to everything.

`lint` has refused what does not belong in a template that did not come with the toolkit. This is the second wall: what
got past it finds no global, no filter, no attribute and nothing to call, and it cannot go on for ever.
"""

import hashlib
import io
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket, BytecodeCache
from jinja2.exceptions import SecurityError
from jinja2.runtime import BlockReference, Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hackathon.access.private import open_private, private_folder
from hackathon.text.files import write_whole
from hackathon.text.messages import message

LONGEST = 1 << 20
"""Letters of a script; the shipped ones have 20,000."""
STEPS = 20_000
"""What the scripts of one request may take: header values (a list counts by its length), templates, `super()`."""
_OPENED = 100
"""What opening a template and `super()` count for."""
_KEPT = 400
"""Compiled templates that the user's cache holds at most."""
_VERSION = b"2"
"""Changes when what is compiled here changes: code of another version is not loaded."""


class TooMuchError(jinja2.TemplateRuntimeError):
    """A template that goes on for ever, or writes without end."""


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """The environment of job templates: expressions see the values that they were given, and nothing else."""

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
            bytecode_cache=private_cache(cache),
        )
        for table in (self.globals, self.filters, self.tests):
            table.clear()
        self._steps = 0

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > STEPS:
            raise TooMuchError(message("jobs.template_steps", count=STEPS))

    def concat(self, parts: Iterable[str]) -> str:
        """Join what a template or a block wrote, up to LONGEST letters."""
        found, length = [], 0
        for part in parts:
            found.append(part)
            length += len(part)
            if length > LONGEST:
                raise TooMuchError(message("jobs.template_letters", count=LONGEST))
        return "".join(found)

    def get_template(self, *arguments: Any, **options: Any) -> jinja2.Template:
        """Return a template; a circle of includes ends here."""
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
        """Refuse: nothing has items."""
        raise SecurityError("[…]")

    def call(self, context: Context, obj: Any, *arguments: Any, **options: Any) -> Any:
        """Return what `super()` gives; nothing else can be called."""
        if isinstance(obj, jinja2.Undefined):
            obj()  # says that there is no such block above
        # what Jinja adds of its own is no argument of the template's
        if not isinstance(obj, BlockReference) or arguments or options.keys() - {"_loop_vars", "_block_vars"}:
            raise SecurityError("(…)")
        self._count(_OPENED)
        return obj()


def private_cache(folder: Path) -> "PrivateCache | None":
    """Return a cache for compiled templates in a folder of the user's, None where that is not private."""
    try:
        return PrivateCache(private_folder(folder, parents=True))
    except (OSError, RuntimeError):
        return None


class PrivateCache(BytecodeCache):
    """Compiled templates by their source.

    They are code that is run: only the user's own files that others cannot read or write are loaded, checked on the
    opened descriptor, so that it does not matter who can rename folders above.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_bucket(self, environment: jinja2.Environment, name: str, filename: str | None, source: str) -> Bucket:
        """Return the place of a template's code; the code stands there if this very text was compiled before."""
        parts = (_VERSION, jinja2.__version__.encode(), name.encode(), (filename or "").encode(), source.encode())
        digest = hashlib.sha256()
        for part in parts:
            digest.update(b"%d:%s" % (len(part), part))
        key = digest.hexdigest()
        bucket = Bucket(environment, key, key)
        self.load_bytecode(bucket)
        return bucket

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take the code of a template, if it is there and nobody else can have written it."""
        try:
            stream, _ = open_private(self._folder / bucket.key)
        except OSError:
            return
        with stream:
            raw = stream.read()
        # a torn or foreign file is as good as none: what is in it decides what is raised
        with suppress(Exception):
            bucket.load_bytecode(io.BytesIO(raw))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template; a full or read-only disk is no reason to fail."""
        with suppress(OSError):
            write_whole(self._folder / bucket.key, bucket.bytecode_to_string(), 0o600)
            self._tidy()

    def _tidy(self) -> None:
        with os.scandir(self._folder) as entries:
            found = [entry for entry in entries if entry.is_file(follow_symlinks=False)]
        if len(found) > _KEPT:
            for entry in sorted(found, key=lambda each: each.stat(follow_symlinks=False).st_mtime)[: len(found) // 2]:
                Path(entry.path).unlink(missing_ok=True)
