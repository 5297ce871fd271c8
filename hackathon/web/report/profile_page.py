"""The page of a profile as a single file that loads nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hackathon.profiling.shares import PARTS
from hackathon.web.page.pages import Site, render
from hackathon.web.views.profile import profile_view

if TYPE_CHECKING:
    from hackathon.profiling.traces.report import Profile


def profile_page(profile: "Profile", language: str, title: str, translations: Sequence[tuple[str, str]]) -> str:
    """Return the page in a language; `title`: the run or the files, `translations`: (language, address) of the page."""
    from hackathon.profiling.traces.stored import spoken, typical_step
    from hackathon.text.messages import speaking
    from hackathon.web.page import sanitize as clean

    with speaking(language):
        view = clean.value(profile_view(spoken(profile), typical_step(profile)))
    return render(
        "profile.html.j2",
        Site(title=title, masked=False),
        language,
        lambda kind, key: None,
        others=translations,
        here="profile",
        view=view,
        parts=PARTS,
    )
