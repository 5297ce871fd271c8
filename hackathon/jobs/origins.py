"""The origin of a request's value, in the user's language.

A request stores the words of `resolve` (`command line`, `cluster NAME`, `default × 4`), independent of the language.
"""

import re

from hackathon.text.messages import N_, NP_, _

_SAID = {
    "command line": N_("command line"),
    "environment": NP_("jobs", "environment"),
    "user": N_("user"),
    "event": N_("event"),
    "study": N_("study"),
    "crate": N_("crate"),
    "default": N_("default"),
    "this machine": N_("this machine"),
}
_NAMED = {"cluster": N_("cluster {name}"), "recipe": N_("recipe {name}")}
_PARTS = re.compile(r"(?P<base>.*?)(?P<scaled>(?: [×÷] \d+)*)", re.DOTALL)
"""`parameters.scaled` adds the factor of a learning rate or the divisor of a batch."""


def origin_text(origin: str) -> str:
    """Return an origin as text for users; names of files and commands, and unknown origins, stay as they are."""
    match = _PARTS.fullmatch(origin)
    assert match is not None  # the first group takes everything
    base, scaled = match["base"], match["scaled"]
    kind, __, name = base.partition(" ")
    if base in _SAID:
        base = _(_SAID[base])
    elif kind in _NAMED and name:
        base = _(_NAMED[kind], name=name)
    return base + scaled
