"""`hackathon survey`: a questionnaire, its answers and their summary."""

from hackathon.cli.lazy_groups import LazyNoun
from hackathon.cli.options import named
from hackathon.text.messages import N_, _

VERBS = {
    "new": N_("Make a questionnaire to begin with."),
    "check": N_("Show problems of a survey and the number of answers."),
    "open": N_("Freeze the questionnaire and start to collect answers."),
    "serve": N_("Serve the form to browsers and phones."),
    "answer": N_("Answer in the terminal, from your own account."),
    "import": N_("Import answers from CSV files and saved pages."),
    "close": N_("Close a survey, and remove who gave which answer."),
    "summary": N_("Summarise a closed survey without revealing who answered what."),
}


@named(
    "survey",
    help=_(
        "Questionnaires of an event: make one, collect answers by form, file, terminal or CSV, sum them up.\n"
        "\n"
        "  hackathon survey new after\n"
        "  hackathon survey serve after --tokens 30\n"
        "  hackathon survey close after\n"
        "  hackathon survey summary after"
    ),
    cls=LazyNoun,
    verbs=VERBS,
)
def command() -> None:
    pass
