"""`hackathon survey`: a questionnaire, its answers and their summary."""

from hackathon.cli.lazy_groups import LazyNoun
from hackathon.cli.options import named

VERBS: tuple[str, ...] = (
    "new",
    "check",
    "open",
    "serve",
    "answer",
    "import",
    "close",
    "summary",
)


@named("survey", cls=LazyNoun, verbs=VERBS)
def command() -> None:
    pass
