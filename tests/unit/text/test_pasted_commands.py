"""Commands in messages, to be pasted into a shell: every value in them is a word, whoever chose it."""

import re
import shlex

from hypothesis import given
from hypothesis import strategies as st

from hackathon.text.messages import LANGUAGES, _, speaking
from support.translations import pairs

COMMAND = re.compile(
    r"(?:\bhackathon(?: [a-z-]+)+|\bchmod [\w+,=]+|\bcd|\bcurl -LO|\bchown \S+|\brm -rf?|\bssh -L \S*)"
    r"(?: [\w{}!=<>./-]+)*", re.ASCII,
)  # fmt: skip
UNQUOTED = re.compile(r"(?<!\{)\{\w+\}(?!\})")


def texts() -> list[tuple[str, str]]:
    """Return (files, text) of every message in every language."""
    return [(files, text) for files, *languages in pairs() for text in languages]


def test_every_value_in_a_command_is_quoted() -> None:
    commands = [(key, match[0]) for key, text in texts() for match in COMMAND.finditer(text)]
    assert sum("!q}" in command for _, command in commands) > 50
    assert [each for each in commands if UNQUOTED.search(each[1])] == []


@given(st.text(max_size=30))
def test_a_value_is_one_word_of_the_command(name: str) -> None:
    for code in LANGUAGES:
        with speaking(code):
            told = _("hackathon diagnose {run!q}", run=name)
            words = shlex.split(told)
            assert words == ["hackathon", "diagnose", name]
    assert _("hackathon diagnose {run!q}", run="k3x9") == "hackathon diagnose k3x9"
