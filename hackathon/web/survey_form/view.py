"""The pages of `survey serve`, made from a questionnaire: the form, and short messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from hackathon.config.survey import Survey
from hackathon.survey.frozen import promise
from hackathon.survey.values import ValueProblem
from hackathon.text.messages import N_, _, speaking
from hackathon.web.page.pages import allowed, environment, style
from hackathon.web.survey_form.form import LANGUAGE, TOKEN, fields_of, kept, others_of, shown

_WORDS = {
    "not_stored": (
        N_("Not sent: your answer could not be saved"),
        N_("Your input is still below. Try again in a minute; if it fails again, tell the organisers."),
    ),
    "done": (N_("Thank you"), N_("Your answer is counted. You can close this page.")),
    "again": (
        N_("Thank you, your answer is already counted"),
        N_("This answer was already received and is counted only once. You can close this page."),
    ),
    "spent": (
        N_("This link has been used"),
        N_("If you have already answered, you are done. If not, ask the organisers for another link."),
    ),
    "closed": (N_("The survey is closed"), N_("Answers are no longer accepted.")),
    "code": (N_("Your code"), N_("Open the link that you received, or enter the code on your slip.")),
    "busy": (N_("Too many attempts"), N_("Wait a minute, then try again.")),
    "large": (N_("Your answer is too long"), N_("Nothing was sent. Go back in the browser and shorten your texts.")),
    "broken": (N_("This is not an answer to the form"), N_("Nothing was sent. Open your link again and answer there.")),
    "slow": (
        N_("Your answer did not arrive in time"),
        N_("Nothing was sent. Go back in the browser and send it again."),
    ),
}
"""What a page says → its heading and its sentence."""


def policy() -> str:
    """Return the policy of a page of the form: it may use its embedded style, and be sent to its own address."""
    return (
        f"default-src 'none'; style-src {allowed(style())}; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


@dataclass(frozen=True)
class View:
    """A questionnaire and its event as pages, in its languages."""

    survey: Survey
    event: str
    """The event's title in one language; if empty, the questionnaire's own title is displayed."""

    def form(
        self,
        language: str,
        token: str,
        typed: Mapping[str, Sequence[str]] | None = None,
        problems: Sequence[ValueProblem] = (),
        failed: bool = False,
    ) -> str:
        """Return the form for a token, with the input and its problems.

        `failed`: the answer was valid, and could not be stored.
        """
        with speaking(language):
            return self._page(
                "survey_form.html.j2", language, token,
                heading=shown(self.survey.title), introduction=shown(self.survey.introduction),
                promise=promise(self.survey), token=token, fields=fields_of(self.survey, typed, problems),
                general=others_of(self.survey, problems), failed=failed,
            )  # fmt: skip

    def words(self, language: str, key: str, *, ask: bool = False, unknown: str = "") -> str:
        """Return a page with one message: `survey_form.<key>` and `…_lead`.

        `ask`: with a field for the token; `unknown`: an invalid token that was typed there.
        """
        with speaking(language):
            heading, lead = (_(text) for text in _WORDS[key])
            lines = [lead]
            thanks = shown(self.survey.thanks) if key in ("done", "again") else ""
            return self._page(
                "survey_words.html.j2", language, "", heading=heading,
                words=[thanks, *lines] if thanks else lines, ask=ask, unknown=kept(unknown)[:80],
            )  # fmt: skip

    def _page(self, template: str, language: str, key: str, **values: Any) -> str:
        # the message after an answer cannot be requested again
        again = template == "survey_form.html.j2" or values["ask"]
        translations = [(other, address(other, key)) for other in self.survey.languages if again and other != language]
        title = shown(self.survey.title)
        page: str = environment().get_template(template).render(
            language=language, others=translations, action=f"?{urlencode({LANGUAGE: language})}", title=title,
            event=self.event or title, style=style(), policy="", **values,
        )  # fmt: skip
        return page


def address(language: str, token: str) -> str:
    """Return the form's address in a language, relative to the present page."""
    return "?" + urlencode({LANGUAGE: language} | ({TOKEN: token} if token else {}))
