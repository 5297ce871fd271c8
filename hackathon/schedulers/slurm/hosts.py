"""Slurm's bracketed host lists."""

import re

LIMIT = 10_000
"""Longest list that is expanded, in hosts."""

_PART = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_GROUP = re.compile(r"([^\[]*)\[([^\]]*)\](.*)\Z", re.DOTALL)


def hosts(nodes: str) -> tuple[str, ...]:
    """Return the hosts of `node[1-2,07],login1`; an unknown expression is returned unchanged."""
    names: list[str] = []
    for part in _PART.findall(nodes):
        names += _expand(part.strip())
        if len(names) > LIMIT:
            return (nodes,)
    return tuple(names)


def _expand(text: str) -> list[str]:
    match = _GROUP.match(text)
    if not match:
        return [text] if text else []
    head, body, tail = match.groups()
    middles: list[str] = []
    for span in body.split(","):
        first, dash, last = span.partition("-")
        if not (first.isascii() and first.isdigit() and (not dash or (last.isascii() and last.isdigit()))):
            return [text]
        if dash and not 0 <= int(last) - int(first) < LIMIT:
            return [text]
        middles += [f"{number:0{len(first)}d}" for number in range(int(first), int(last or first) + 1)]
    tails = _expand(tail) or [""]
    if len(middles) * len(tails) > LIMIT:
        return [text]
    return [head + middle + end for middle in middles for end in tails]
