"""The documentation says what is there: links and every command line that it shows, also on the pages as built."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from hackathon.cli.main import COMMANDS, build
from hackathon.config.rule_files import load_rule_file
from hackathon.config.schema import RECORDS
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


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make docs` writes: all pages, those with a list of the program complete."""
    folder = tmp_path_factory.mktemp("docs")
    subprocess.run([sys.executable, ROOT / "docs" / "build.py", folder], check=True, stdout=subprocess.DEVNULL)
    (folder / "contributing.md").unlink()  # CONTRIBUTING.md, which the site has among its pages
    return folder


def _complete(folder: Path) -> list[Path]:
    """Return the built pages that say more than the committed ones."""
    return [
        path
        for path in sorted(folder.rglob("*.md"))
        if path.read_text("utf-8") != (ROOT / "docs" / path.relative_to(folder)).read_text("utf-8")
    ]


@pytest.mark.slow
def test_all_pages_are_built_and_those_with_lists_are_complete(built: Path) -> None:
    committed = {page.relative_to(ROOT / "docs") for page in PAGES if page.is_relative_to(ROOT / "docs")}
    assert {path.relative_to(built) for path in built.rglob("*.md")} == committed
    names = {path.name for path in _complete(built)}
    assert names == {"clusters.md", "commands.md", "commands.ja.md", "files.md", "rules.md", "rules.ja.md"}
    for path in _complete(built):
        short = (ROOT / "docs" / path.relative_to(built)).read_text("utf-8")
        assert path.read_text("utf-8").startswith(short + "\n"), f"{path.name} loses what was written by hand"


@pytest.mark.slow
def test_built_pages_list_everything(built: Path) -> None:
    headings = {path.name: _anchors(path.read_text("utf-8")) for path in _complete(built)}
    for name in ("commands.md", "commands.ja.md"):
        assert {*(command for names in COMMANDS.values() for command in names), "rules-show", "event-init"} <= headings[
            name
        ]
    assert {path.stem for path in (ROOT / "templates" / "clusters").glob("*.yaml")} <= headings["clusters.md"]
    assert set(RECORDS) <= headings["files.md"]
    rules = {rule.id for path in (ROOT / "templates" / "rules").glob("*.yaml") for rule in load_rule_file(path)}
    assert len(rules) > 300 and rules <= headings["rules.md"] and rules <= headings["rules.ja.md"]


@pytest.mark.slow
def test_each_built_page_is_in_one_language(built: Path) -> None:
    english, japanese = ((built / "reference" / name).read_text("utf-8") for name in ("commands.md", "commands.ja.md"))
    letters = re.compile(r"[ぁ-んァ-ヶ一-龠]")
    assert [line for line in english.splitlines() if letters.search(line.replace("[日本語]", ""))] == []
    rows = [line for line in japanese.splitlines() if line.startswith("| `--")]
    assert len(rows) > 300 and [row for row in rows if not letters.search(row)] == []


@pytest.mark.slow
def test_links_of_built_pages_lead_somewhere(built: Path) -> None:
    broken = [f"{path.name}: {link}" for path in _complete(built) for link in _broken(path, built)]
    assert broken == []


@pytest.mark.slow
def test_command_lines_of_built_pages_parse(built: Path) -> None:
    for path in _complete(built):
        _assert_commands_parse(path.read_text("utf-8"))
    assert len(list(_typed((built / "reference" / "commands.md").read_text("utf-8")))) > 30


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
    assert _broken(ROOT / name, ROOT) == []


def _broken(page: Path, top: Path) -> list[str]:
    """Return the links of a page that lead nowhere or out of a folder."""
    broken = []
    for link in _LINK.findall(_prose(page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        there = target.exists() and target.is_relative_to(top)
        if not there or (anchor and anchor not in _anchors(target.read_text("utf-8"))):
            broken.append(link)
    return broken


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
    _assert_commands_parse((ROOT / name).read_text("utf-8"))


def _assert_commands_parse(text: str) -> None:
    group = build()
    context = click.Context(group)
    for words in _typed(text):
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
