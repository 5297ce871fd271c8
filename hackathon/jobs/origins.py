"""The origin of a request's value, in the user's language.

A request stores the words of `resolve` (`command line`, `cluster NAME`, `default × 4`), independent of the language.
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
"""`parameters.scaled` adds the factor of a learning rate or the divisor of a batch."""


def origin_text(origin: str) -> str:
    """Return an origin as text for users; names of files and commands, and unknown origins, stay as they are."""
    match = _PARTS.fullmatch(origin)
    assert match is not None  # the first group takes everything
    base, scaled = match["base"], match["scaled"]
    kind, _, name = base.partition(" ")
    if base in _SAID:
        base = message(_SAID[base])
    elif kind in _NAMED and name:
        base = message(_NAMED[kind], name=name)
    return base + scaled
