"""`hackathon docs`: the documentation in the terminal, for machines without a browser or Internet access."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.cli.reference import LISTS, made_list
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _, language, speaking
from hackathon.text.paths import is_packaged, shipped

_DOCS_TEXTS = {
    "tutorial": N_("Tutorials"),
    "how-to": N_("How-tos"),
    "reference": N_("Reference"),
    "explanation": N_("Explanations"),
}

KINDS = ("tutorial", "how-to", "reference", "explanation")
"""Folders of the documentation, in the order in which a newcomer needs them."""
LINES = 3
"""The most matching lines that are displayed per page."""


@dataclass(frozen=True)
class Page:
    """One page of the documentation, in the user's language if available."""

    name: str
    """Its file's name without suffixes: the argument of the command."""
    kind: str
    language: str
    path: Path

    @property
    def text(self) -> str:
        """Its Markdown. A wheel contains the generated lists of the reference; a checkout generates them on reading."""
        text = self.path.read_text(encoding="utf-8")
        if self.kind == "reference" and self.name in LISTS and not is_packaged():
            with speaking(self.language):
                text += "\n" + made_list(self.name)
        return text

    @property
    def title(self) -> str:
        """Its first heading."""
        with self.path.open(encoding="utf-8") as lines:
            heading = next((line for line in lines if line.startswith("# ")), f"# {self.name}")
        return heading[2:].strip()


def _complete(_context: click.Context, _argument: click.Parameter, begun: str) -> list[str]:
    return [page.name for page in all_pages() if begun in page.name]


@named(
    "docs",
    help=_(
        "Read the tutorials, how-tos, reference and explanations in the terminal, without the Internet. "
        "Without a topic: the list of pages. TOPIC is a part of a page's name; any other word is searched for "
        "in all pages.\n"
        "\n"
        "  hackathon docs\n"
        "  hackathon docs my-job-failed\n"
        "  hackathon docs commands\n"
        "  hackathon docs walltime"
    ),
)
@click.argument("topic", required=False, shell_complete=_complete)
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(topic: str | None, as_json: bool) -> None:
    pages = all_pages()
    matches = _matches(pages, topic or "")
    hits = {} if matches else {page: lines for page in pages if (lines := _hits(page.text, topic or ""))}
    if not matches and not hits:
        raise RequestError(
            "cli.no_topic",
            "no page is called {name} or contains it",
            hint="available: {known}",
            name=topic,
            known=", ".join(page.name for page in pages),
        )
    if as_json:
        records = [
            {"name": page.name, "kind": page.kind, "language": page.language, "title": page.title, "text": page.text}
            for page in matches or hits
        ]
        echo_json({"schema_version": 1, "pages": records})
    elif topic and len(matches) == 1:
        _show(matches[0].text)
    else:
        click.echo(_listing(dict.fromkeys(matches, ()) or hits))
        click.echo(_("To read a page: hackathon docs TOPIC"), err=True)


def all_pages() -> list[Page]:
    """Return all pages, each once, in the current language or else in English."""
    pages = []
    for kind in KINDS:
        for path in sorted(shipped("docs", kind).glob("*.md")):
            if path.name.endswith(".ja.md"):
                continue
            translation = path.with_name(f"{path.stem}.{language()}.md")
            if translation.is_file():
                pages.append(Page(path.stem, kind, language(), translation))
            else:
                pages.append(Page(path.stem, kind, "en", path))
    return pages


def _matches(pages: list[Page], topic: str) -> list[Page]:
    """Return the pages with this name, `NAME` or `KIND/NAME`; otherwise those whose name contains it."""
    return [page for page in pages if topic in (page.name, f"{page.kind}/{page.name}")] or [
        page for page in pages if topic in page.name
    ]


def _hits(text: str, word: str) -> tuple[str, ...]:
    """Return the lines that contain a word, case-insensitive."""
    return tuple(line.strip() for line in text.splitlines() if word.lower() in line.lower())


def _listing(pages: "dict[Page, tuple[str, ...]]") -> str:
    """Return pages by kind with their titles, and the first matching lines of each."""
    names = [page.name for page in all_pages()]
    # the argument for one of two pages with the same name includes the kind
    labels = {page: page.name if names.count(page.name) == 1 else f"{page.kind}/{page.name}" for page in pages}
    width = max(map(len, labels.values()))
    lines: list[str] = []
    for kind in KINDS:
        members = [page for page in pages if page.kind == kind]
        if members:
            lines += [""] * bool(lines) + [_(_DOCS_TEXTS[kind])]
        for page in members:
            lines.append(f"  {labels[page]:<{width}}  {page.title}")
            lines += [f"  {'':<{width}}    {line}" for line in pages[page][:LINES]]
    return "\n".join(lines)


def _show(text: str) -> None:
    """Print a page: formatted and paged on a terminal, as Markdown elsewhere."""
    if sys.stdout.isatty():
        click.echo_via_pager(_laid_out(text))
    else:
        click.echo(text, nl=False)


def _laid_out(text: str) -> Iterator[str]:
    """Yield a page section by section, so that the pager shows the first one while the others are formatted."""
    from io import StringIO

    from rich.console import Console
    from rich.markdown import Markdown

    width = min(100, shutil.get_terminal_size().columns)
    for section in _sections(text):
        stream = StringIO()
        Console(file=stream, force_terminal=True, width=width).print(Markdown(section))
        yield stream.getvalue() + "\n"


def _sections(text: str) -> Iterator[str]:
    """Yield the parts of a page that begin with a heading; `#` in a code block is not a heading."""
    section: list[str] = []
    fence = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif line.startswith("#") and not fence and section:
            yield "".join(section)
            section = []
        section.append(line)
    yield "".join(section)
