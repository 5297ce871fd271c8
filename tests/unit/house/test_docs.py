"""The documentation says what is there: generated pages, links, and every command line that it shows."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from hackathon.cli.main import build
from support.paths import ROOT

PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "recipes").glob("*/*.md"),
        *(ROOT / "team_projects").glob("*/*.md"),
    ]
)
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
_FENCE = re.compile(r"^(```+)(\S*)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^()\s]+)\)")


def test_generated_pages_are_up_to_date() -> None:
    answer = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert answer.returncode == 0, f"run `make docs`: {answer.stdout}{answer.stderr}"


def _prose(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))


def _anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to a page's headings."""
    found: list[str] = []
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", _FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.append(slug if slug not in found else f"{slug}-{found.count(slug)}")
    return set(found)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    broken = []
    for link in _LINK.findall(_prose(page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        there = target.exists() and target.is_relative_to(ROOT)
        if not there or (anchor and anchor not in _anchors(target.read_text("utf-8"))):
            broken.append(link)
    assert not broken


def _typed(text: str) -> Iterator[list[str]]:
    """Yield the words of every `hackathon` command in shell blocks, and in indented ones."""
    blocks = [body for _, language, body in _FENCE.findall(text) if language in ("sh", "bash", "shell")]
    blocks += re.findall(r"(?:^ {4,}\S.*\n?)+", _FENCE.sub("", text), re.MULTILINE)
    for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
        if not re.search(r"(?:^|[\s(;&|])hackathon ", line):
            continue
        lexer = shlex.shlex(line.strip().removeprefix("$ "), posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        command: list[str] = []
        for word in [*lexer, ";"]:
            if not re.fullmatch(r"[|&;<>()]+", word):
                command.append(word)
                continue
            while command and re.fullmatch(r"[A-Z_]+=.*", command[0]):
                del command[0]
            if command and command[0] == "hackathon":
                yield command[1:]
            command = []


@pytest.mark.parametrize("name", NAMES)
def test_command_lines_parse(name: str) -> None:
    group = build()
    context = click.Context(group)
    for words in _typed((ROOT / name).read_text("utf-8")):
        line = shlex.join(["hackathon", *words])
        if words[0].startswith("-"):
            assert words[0] in ("--help", "--version", "--lang"), line
            continue
        command = group.get_command(context, words[0])
        assert command is not None, line
        try:
            inside = command.make_context(words[0], words[1:])
            if isinstance(command, click.Group):  # the sub-verb and its options, too
                name, verb, rest = command.resolve_command(inside, [*inside._protected_args, *inside.args])
                assert verb is not None, line
                verb.make_context(name or "", list(rest), parent=inside)
        except click.exceptions.Exit:
            pass  # --help was shown
        except click.ClickException as error:
            if "does not exist" in error.format_message():
                continue  # a file of an example
            pytest.fail(f"{line}: {error.format_message()}")


def test_examples_of_the_help_parse() -> None:
    commands = (ROOT / "docs" / "reference" / "commands.md").read_text("utf-8")
    assert len(list(_typed(commands))) > 30


def _cells() -> list[tuple[str, str, str]]:
    """Return (recipe, launcher, test) of every cell of the table that names a test."""
    found, recipe = [], ""
    for line in (ROOT / "docs" / "reference" / "tested.md").read_text("utf-8").splitlines():
        columns = [column.strip() for column in line.strip("|").split("|")]
        if len(columns) != 5 or not columns[1].startswith("`"):
            continue
        recipe = columns[0] or recipe
        launcher = columns[1].strip("`")
        found += [(recipe.split()[0].strip("`"), launcher, cell.strip("`")) for cell in columns[2:] if "test_" in cell]
    return found


def test_every_test_that_the_table_names_is_there_and_has_that_launcher() -> None:
    cells = _cells()
    assert len(cells) > 30, "the table was not understood"
    files = {path.stem: path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    words = {"torchrun": "torch(run|.distributed.run)", "local": "local"}
    wrong = [
        (recipe, launcher, test)
        for recipe, launcher, test in cells
        if not re.search(words.get(launcher, launcher), files.get(test, ""), re.IGNORECASE)
    ]
    assert wrong == []


def test_the_table_has_a_row_for_every_recipe_and_launcher() -> None:
    from hackathon.config import load

    rows = {cell[:2] for cell in _cells()}
    wanted = {
        (recipe.name, launcher)
        for recipe in load.list_recipes([])[0]
        if recipe.name != "preflight"  # it looks at the nodes and trains nothing
        for launcher in recipe.launchers
        if launcher != "local"  # one process, or ranks on one machine: not what scales
    }
    assert wanted <= rows
