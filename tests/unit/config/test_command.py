"""A command is words, not shell."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.config.command import command_words
from hackathon.text.errors import RequestError

HOSTILE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=30) | st.sampled_from(
    [
        "$(id)",
        "`id`",
        "'; rm -rf ~; '",
        '"$HOME"',
        "a\nb",
        "日本 語",
        "{lr}",
        "{{x}}",
        "\\",
        "-n",
        "",
        " ",
        "|",
        "&&",
        "*",
    ]
)


def refused(command: str, **values: object) -> RequestError:
    with pytest.raises(RequestError) as error:
        command_words(command, values)
    assert error.value.exit_code == 2
    assert error.value.message
    return error.value


def test_words_and_values() -> None:
    words = command_words(
        "python train.py --lr {lr} --name '{name} x' --fast={fast}", {"lr": 0.1, "name": "a b", "fast": True}
    )
    assert words == ("python", "train.py", "--lr", "0.1", "--name", "a b x", "--fast=true")


@given(HOSTILE)
def test_a_value_never_becomes_more_than_its_word(value: str) -> None:
    words = command_words("python train.py --a {a} --b={a}", {"a": value})
    assert words == ("python", "train.py", "--a", value, f"--b={value}")


@given(st.lists(HOSTILE, min_size=1, max_size=5))
def test_quoted_words_are_literal(words: list[str]) -> None:
    braces = [word.replace("{", "{{").replace("}", "}}") for word in words]
    assert command_words(shlex.join(["python", *braces]), {}) == ("python", *words)


@given(st.text("ab '\"\\|&;<>$(`{}\n#日", max_size=20))
def test_what_is_accepted_is_what_a_posix_shell_would_split(command: str) -> None:
    try:
        words = command_words(command, {"a": "a", "b": "b"})
    except RequestError as error:
        assert error.message
        return
    # braces aside, nothing but splitting has happened
    if "{" not in command and "}" not in command and "\\\n" not in command:
        assert list(words) == shlex.split(command)


@pytest.mark.parametrize(
    ("command", "operator"),
    [
        ("python a.py | tee log", "|"), ("cd x && python a.py", "&&"), ("a || b", "||"), ("python a.py > log", ">"),
        ("python a.py >> log", ">>"), ("python a.py 2>&1", ">"), ("python < x", "<"), ("cat <<E", "<<"), ("a; b", ";"),
        ("echo $(id)", "$("), ("echo `id`", "`"), ("a & b", "&"), ("echo $HOME/x", "$HOME"), ("echo ${HOME}", "${"),
        ("python a.py\npython b.py", "\\n"), ('echo "a"|b', "|"), ("python a.py|tee", "|"),
    ],
)  # fmt: skip
def test_what_needs_a_shell_is_refused_outside_quotes(command: str, operator: str) -> None:
    error = refused(command)
    assert error.id == "config.command_shell"
    assert error.values["operator"] == operator
    assert "run.sh" in error.message


@pytest.mark.parametrize("text", ["|", "&&", ">", "<", ";", "$(id)", "`id`", "$HOME", "a\nb"])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_the_same_signs_are_plain_text_inside_quotes(text: str, quote: str) -> None:
    assert command_words(f"echo {quote}{text}{quote}", {}) == ("echo", text)


def test_escaped_signs_are_plain_text() -> None:
    assert command_words(r"echo \| \; \$HOME \> \" \\", {}) == ("echo", "|", ";", "$HOME", ">", '"', "\\")


def test_a_backslash_joins_lines_and_a_last_line_break_is_nothing() -> None:
    assert command_words("python a.py \\\n  --lr {lr}\n", {"lr": 1}) == ("python", "a.py", "--lr", "1")


def test_braces() -> None:
    assert command_words("run '{{\"a\": {a}}}' {{a}}", {"a": 1}) == ("run", '{"a": 1}', "{a}")
    assert refused("run {lrr}", lr=1).values["near"] == "lr"
    assert refused("run {x}").id == "config.command_placeholder"
    assert refused("run '{\"a\": 1}'").id == "config.command_brace"
    assert refused("run {").id == "config.command_brace"
    assert refused("run {a.__class__}", a=1).id == "config.command_brace"
    assert refused("run {a!r:>10}", a=1).id in ("config.command_brace", "config.command_shell")
    assert refused("run {a}", a=None).id == "config.command_no_value"


def test_placeholders_may_have_japanese_names() -> None:
    assert command_words("run --x {学習率}", {"学習率": 0.5}) == ("run", "--x", "0.5")


def test_other_refusals() -> None:
    assert refused("python 'a").id == "config.command_quote"
    assert refused("python a\\").id == "config.command_quote"
    assert refused("").id == "config.command_empty"
    assert refused(" \n ").id == "config.command_empty"
    assert refused("a {x}", x="a\0b").id == "config.command_nul"
