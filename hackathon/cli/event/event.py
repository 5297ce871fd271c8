"""`hackathon event`: one hackathon from an empty folder to its report."""

from hackathon.cli.lazy_groups import LazyNoun
from hackathon.cli.options import named

VERBS: tuple[str, ...] = ("init", "check", "show", "usage", "report")


@named("event", cls=LazyNoun, verbs=VERBS)
def command() -> None:
    pass
