"""Every command of the toolkit that a rule tells people to type exists, with its options, in both languages."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from hackathon.cli.main import build
from hackathon.config.rule import Rule
from hackathon.config.rule_files import load_rule_file
from hackathon.text.paths import shipped

RUN = "k3x9"
FILLED = {"run": RUN, "cluster": "laptop", "rank": "0", "file": "train.py"}
_COMMAND = re.compile(r"(`?)(?<![\w./-])hackathon ([^`|;&()\n\u0080-\U0010ffff]+)")
_GROUP = build()


def named(words: list[str]) -> tuple[click.Command, int]:
    """Return the command that the first words name, and how many they are. Raises click.ClickException."""
    command = _GROUP.get_command(click.Context(_GROUP), words[0])
    if command is None:
        raise click.UsageError(f"no command {words[0]}")
    if isinstance(command, click.Group) and len(words) > 1:
        verb = command.get_command(click.Context(command), words[1])
        return (verb, 2) if verb else (command, 1)
    return command, 1


def typed(words: list[str]) -> list[str]:
    """Return the words of a command that stands in a sentence: it ends before the first word that is neither an
    option, nor the value of one, nor filled in."""
    bare = [word.rstrip(".,:") for word in words]
    command, length = named(bare)
    takes_value = False
    while length < len(words) and words[length - 1] == bare[length - 1]:
        if not takes_value and not re.match(r"-|\{\w+\}", bare[length]):
            break
        option = next((each for each in command.params if bare[length] in each.opts), None)
        takes_value = isinstance(option, click.Option) and not option.is_flag
        length += 1
    return bare[:length]


def parse(words: list[str]) -> None:
    """Raise click.ClickException for a command that cannot be typed so."""
    filled = [re.sub(r"\{(\w+)\}", lambda name: FILLED.get(name[1], "1"), word) for word in words]
    command, _ = named(filled[:1])
    try:
        context = command.make_context(filled[0], filled[1:])
        if isinstance(command, click.Group):
            name, verb, rest = command.resolve_command(context, [*context._protected_args, *context.args])
            assert verb is not None
            command, context = verb, verb.make_context(name, list(rest), parent=context)
    except click.BadParameter as error:
        if "does not exist" not in error.format_message():  # a file of an example
            raise
        return
    for each in command.params:
        value = context.params.get(each.name or "")
        given = RUN in (value if isinstance(value, tuple) else [value])
        if given and isinstance(each, click.Argument) and "RUN" not in (each.metavar or each.name or "").upper():
            raise click.UsageError(f"{each.metavar or each.name} is not a run")


def commands(text: str, *, whole: bool) -> Iterator[list[str]]:
    """Yield the words of each command of the toolkit in a text; `whole`: the text is nothing but commands."""
    for mark, rest in _COMMAND.findall(text):
        words = shlex.split(rest) if whole or mark else rest.split()
        yield words if whole or mark else typed(words)


def texts(rule: Rule) -> Iterator[tuple[str, bool]]:
    """Yield (text, whether it is nothing but commands) of all that a rule says."""
    for text in [rule.title, rule.advice, *(cause.text for cause in rule.causes)]:
        for each in text.values() if isinstance(text, dict) else [text]:
            yield each, False
    for cause in rule.causes:
        yield cause.check, True


def wrong(text: str, *, whole: bool) -> str:
    """Return what is wrong with the commands of a text; nothing if they can be typed."""
    try:
        for words in commands(text, whole=whole):
            parse(words)
    except click.ClickException as error:
        return error.format_message()
    return ""


def test_commands_that_rules_name_can_be_typed() -> None:
    rules = [rule for file in sorted(shipped("templates", "rules").glob("*.yaml")) for rule in load_rule_file(file)]
    said = [(rule.id, text, whole) for rule in rules for text, whole in texts(rule)]
    assert sum(len(list(_COMMAND.findall(text))) for _, text, _ in said) > 80
    found = [(name, text, wrong(text, whole=whole)) for name, text, whole in said]
    assert [each for each in found if each[2]] == []


@pytest.mark.parametrize(
    ("text", "whole", "told"),
    [
        ("ask for GPUs; hackathon submit --gpus does it.", False, "--gpus"),
        ("（hackathon submit --gpus でも可）。", False, "--gpus"),
        ("Type `hackathon submitt`.", False, "no command submitt"),
        ("hackathon render {run} --explain", True, "is not a run"),
        ("hackathon env show", True, "Missing argument"),
        ("hackathon env shows", True, "shows"),
        ("hackathon clusters {cluster} --measures", True, "--measures"),
        ("cd x; hackathon logs --rank", True, "--rank"),
        ("hackathon logs {run} -n many", True, "many"),
    ],
)
def test_a_command_that_does_not_exist_is_found(text: str, whole: bool, told: str) -> None:
    assert told in wrong(text, whole=whole)


@pytest.mark.parametrize(
    "text",
    [
        "Look at the reason (hackathon status).", "hackathon logs shows the ranks", "`hackathon port {file}` shows it.",
        "hackathon scale --mode weak does so, or -p lr={wanted}.", "hackathon rerun {run}. Then wait.",
        "hackathon clusters {cluster} --measure で確認できます。", "Install it: hackathon env create.",
        "the folder .hackathon and /opt/hackathon with its files",
    ],
)  # fmt: skip
def test_a_command_in_a_sentence_ends_where_the_sentence_goes_on(text: str) -> None:
    assert wrong(text, whole=False) == ""
