"""`hackathon survey`: a questionnaire, its answers and their summary."""

from hackathon.cli.lazy_groups import LazyNoun
from hackathon.cli.options import named
from hackathon.text.messages import message

VERBS = {
    "new": "help.survey_new_short",
    "check": "help.survey_check_short",
    "open": "help.survey_open_short",
    "serve": "help.survey_serve_short",
    "answer": "help.survey_answer_short",
    "import": "help.survey_import_short",
    "close": "help.survey_close_short",
    "summary": "help.survey_summary_short",
}


@named("survey", help=message("help.survey_help"), cls=LazyNoun, verbs=VERBS)
def command() -> None:
    pass
