"""Store a profile for its run's page, in each language, so that the traces are not read again."""

from typing import Any

from hackathon.profiling.traces.report import SCHEMA_VERSION, Profile
from hackathon.profiling.traces.roof_sentences import operator_rows, roof_sentences
from hackathon.text.messages import LANGUAGES, speaking

FACT = "profile"
"""Name of the fact: `client/profile.json`."""
RANKS = 32
"""Ranks whose step is stored."""
FINEST = 4000
"""Parts shorter than 1/FINEST of a step are not stored: no picture would show them."""


def stored(profile: Profile) -> dict[str, Any]:
    """Return a profile as JSON values: its texts in each language, and one step of the ranks."""
    texts = {}
    for language in LANGUAGES:
        with speaking(language):
            texts[language] = spoken(profile)
    return {"schema_version": SCHEMA_VERSION, "languages": texts, "step": typical_step(profile)}


def spoken(profile: Profile) -> dict[str, Any]:
    """Return a profile without its step, with texts in the current language."""
    return {
        **profile.to_json(),
        "recorded": bool(profile.recordings),
        "roof": {
            "lines": roof_sentences(profile),
            "rows": [list(row) for row in operator_rows(profile.roofline)] if profile.roofline is not None else [],
        },
    }


def typical_step(profile: Profile) -> dict[str, Any] | None:
    """Return the step of median length, of the first RANKS ranks; None when they have no step in common.

    `ranks`: [{"rank", "stretches": [[part, begin, end], …]}, …] in seconds from the first start on.
    """
    number = profile.typical_step()
    if number is None:
        return None
    stretches = dict(sorted(profile.stretches(number).items())[:RANKS])
    seconds = max((spans[-1][2] for spans in stretches.values() if spans), default=0.0)
    if seconds <= 0:
        return None
    ranks = [
        {
            "rank": rank,
            "stretches": [
                [part, round(begin, 7), round(end, 7)] for part, begin, end in spans if end - begin >= seconds / FINEST
            ],
        }
        for rank, spans in stretches.items()
    ]
    return {"number": number, "seconds": seconds, "ranks": ranks}
