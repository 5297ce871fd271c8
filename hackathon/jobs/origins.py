"""Where a value of a request is from, in the reader's language.

A request keeps the words of `resolve` (`command line`, `cluster NAME`, `default × 4`), whatever language is spoken.
"""

import re

from hackathon.text.messages import message

_SAID = {
    "command line": "jobs.origin_command_line",
    "environment": "jobs.origin_environment",
    "user": "jobs.origin_user",
    "event": "jobs.origin_event",
    "study": "jobs.origin_study",
    "crate": "jobs.origin_crate",
    "default": "jobs.origin_default",
    "this machine": "jobs.origin_machine",
}
_NAMED = {"cluster": "jobs.origin_cluster", "recipe": "jobs.origin_recipe"}
_PARTS = re.compile(r"(?P<base>.*?)(?P<scaled>(?: [×÷] \d+)*)", re.DOTALL)
"""`parameters.scaled` adds what a learning rate or a batch was multiplied with or divided by."""


def origin_text(origin: str) -> str:
    """Return an origin as a person reads it; names of files and commands stay, and so does what is not known."""
    match = _PARTS.fullmatch(origin)
    assert match is not None  # the first group takes everything
    base, scaled = match["base"], match["scaled"]
    kind, _, name = base.partition(" ")
    if base in _SAID:
        base = message(_SAID[base])
    elif kind in _NAMED and name:
        base = message(_NAMED[kind], name=name)
    return base + scaled
