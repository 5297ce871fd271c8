"""`hackathon docs`: the how-tos in the terminal, for machines without a browser or the Internet."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import language, message

KINDS = ("tutorial", "how-to", "explanation")
"""Folders of the documentation, in the order in which a newcomer needs them."""
LINES = 3
"""Lines that are shown of a page in which a word was found."""


@dataclass(frozen=True)
class Page:
    """One page of the documentation, in the user's language where it exists in it."""

    name: str
    """Its file's name without endings: what a person types."""
    kind: str
    path: Path

    @property
    def text(self) -> str:
        """Its Markdown."""
        return self.path.read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        """Its first heading."""
        first = next((line for line in self.text.splitlines() if line.startswith("# ")), f"# {self.name}")
        return first[2:].strip()


def _complete(_context: click.Context, _argument: click.Parameter, begun: str) -> list[str]:
    return [page.name for page in all_pages() if begun in page.name]


@named("docs")
@click.argument("topic", required=False, shell_complete=_complete)
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(topic: str | None, as_json: bool) -> None:
    pages = all_pages()
    named_so = [page for page in pages if page.name == topic] or [page for page in pages if (topic or "") in page.name]
    found = named_so or [page for page in pages if topic and topic.lower() in page.text.lower()]
    if not found:
        raise RequestError("cli.no_topic", name=topic, known=", ".join(page.name for page in pages))
    if as_json:
        import json

        told = [{"name": page.name, "kind": page.kind, "title": page.title, "text": page.text} for page in found]
        click.echo(json.dumps({"schema_version": 1, "pages": told}, ensure_ascii=False, indent=1))
    elif topic and len(named_so) == 1:
        _show(named_so[0].text)
    else:
        click.echo(_listing(found, "" if named_so else topic or ""))
        click.echo(message("cli.docs_how"), err=True)


def all_pages() -> list[Page]:
    """Return all pages, each once: in the current language, else in English."""
    from hackathon.text.paths import shipped

    found = []
    for kind in KINDS:
        for path in sorted(shipped("docs", kind).glob("*.md")):
            if path.name.endswith(".ja.md"):
                continue
            own = path.with_name(f"{path.stem}.{language()}.md")
            found.append(Page(path.stem, kind, own if own.is_file() else path))
    return found


def _listing(pages: list[Page], word: str = "") -> str:
    """Return pages by kind with their titles, and the first lines that hold a word."""
    width = max(len(page.name) for page in pages)
    lines: list[str] = []
    for kind in KINDS:
        some = [page for page in pages if page.kind == kind]
        if some:
            lines += [""] * bool(lines) + [message(f"cli.docs_{kind.replace('-', '_')}")]
        for page in some:
            lines.append(f"  {page.name:<{width}}  {page.title}")
            hits = [line.strip() for line in page.text.splitlines() if word and word.lower() in line.lower()]
            lines += [f"  {'':<{width}}    {line}" for line in hits[:LINES]]
    return "\n".join(lines)


def _show(text: str) -> None:
    """Print a page: laid out and paged on a terminal, as Markdown elsewhere."""
    if not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    from io import StringIO

    from rich.console import Console
    from rich.markdown import Markdown

    stream = StringIO()
    width = min(100, shutil.get_terminal_size().columns)
    Console(file=stream, force_terminal=True, width=width).print(Markdown(text))
    click.echo_via_pager(stream.getvalue())
