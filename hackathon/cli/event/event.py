"""`hackathon event`: one hackathon from an empty folder to its report."""

from hackathon.cli.lazy_groups import LazyNoun
from hackathon.cli.options import named
from hackathon.text.messages import message

VERBS = {
    "init": "help.event_init_short",
    "check": "help.event_check_short",
    "show": "help.event_show_short",
    "usage": "help.event_usage_short",
    "report": "help.event_report_short",
}


@named("event", help=message("help.event_help"), cls=LazyNoun, verbs=VERBS)
def command() -> None:
    pass
