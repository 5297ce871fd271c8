"""`hackathon event`: one hackathon from an empty folder to its report."""

from hackathon.cli.lazy_groups import LazyNoun
from hackathon.cli.options import named
from hackathon.text.messages import N_, _

VERBS = {
    "init": N_("Create hackathon.yaml and the shared directories."),
    "check": N_("Find all problems of an event before it starts."),
    "show": N_("Show an event: schedule, teams, tutors."),
    "usage": N_("Show node-hours, GPU-hours, and tokens by team and day."),
    "report": N_("Write the report of the event as Markdown and HTML."),
}


@named(
    "event",
    help=_(
        "An event in one file, hackathon.yaml: teams, tutors, schedule, clusters with budgets.\n"
        "\n"
        "hackathon event init my-event\n"
        "hackathon event check my-event\n"
        "hackathon event report my-event"
    ),
    cls=LazyNoun,
    verbs=VERBS,
)
def command() -> None:
    pass
