"""Collect the texts of the code and of the templates, and bring the translations up to date (`make messages`).

    python po/update.py            adds new texts to hackathon/locale/LANGUAGE/LC_MESSAGES/hackathon.po, drops old ones
    python po/update.py --check    changes nothing, and names what is missing

Translate the .po file with Poedit, Weblate or an editor. A text whose English was changed keeps its translation with
the mark `fuzzy`: look at it and take the mark away.
"""

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "hackathon" / "locale"
CODE = ROOT / "hackathon"
TEMPLATES = ROOT / "templates"

# Function → which of its arguments are texts; `context`: the one before the text
SINGLE = {"_": 0, "N_": 0}
IN_CONTEXT = ("pgettext", "NP_")
WITH_ID = re.compile(r"(?:Error|_environment_error|Message|__init__)\Z")
IDENTIFIER = re.compile(r"[a-z_]+\.[a-z0-9_]+\Z")


class Text(NamedTuple):
    """A text as it stands in the code."""

    english: str
    many: str = ""
    """The form for several; empty: there is one form."""
    context: str = ""

    @property
    def id(self) -> str | tuple[str, str]:
        """What Babel calls it."""
        return (self.english, self.many) if self.many else self.english


def texts() -> dict[Text, list[str]]:
    """Return all texts of code and templates with the files that have them."""
    places: dict[Text, list[str]] = {}
    readers = (
        (CODE, "*.py", python),
        (TEMPLATES / "pages", "*.j2", jinja),
        (TEMPLATES / "report", "*.j2", jinja),
        (TEMPLATES / "plots", "*.json", plot),
    )
    for folder, pattern, reader in readers:
        for path in sorted(folder.rglob(pattern)):
            name = str(path.relative_to(ROOT))
            for text in reader(path.read_text(encoding="utf-8")):
                files = places.setdefault(text, [])
                if name not in files:
                    files.append(name)
    return places


def python(source: str) -> Iterator[Text]:
    """Yield the texts of Python code, also those inside of f-strings, which tools of gettext do not see."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        yield from of_call(name, [_constant(node) for node in call.args], [
            _constant(keyword.value) for keyword in call.keywords if keyword.arg == "hint"
        ])  # fmt: skip


def of_call(name: str, arguments: list[str | None], hints: list[str | None]) -> Iterator[Text]:
    """Yield the texts of a call with these arguments, of which None is no text."""
    first, second = [*arguments, None, None][:2]
    if name in ("_", "N_") and first is not None:
        yield Text(first)
    elif name == "ngettext" and first is not None and second is not None:
        yield Text(first, second)
    elif name in IN_CONTEXT and second is not None:
        if first is None:
            raise ValueError(f"the context of {second!r} is not written out")
        yield Text(second, context=first)
    elif WITH_ID.search(name) and first is not None and IDENTIFIER.match(first):
        yield from (Text(text) for text in (second, *hints) if text)


def _constant(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def jinja(source: str) -> Iterator[Text]:
    """Yield the texts of a template."""
    from jinja2 import nodes

    for call in Environment().parse(source).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name):
            arguments = [
                node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None
                for node in call.args
            ]
            yield from of_call(call.node.name, arguments, [])


def plot(source: str) -> Iterator[Text]:
    """Yield the texts of a plot: values that begin with `message:`."""
    for value in _strings(json.loads(source)):
        if value.startswith("message:"):
            context, _, text = value.removeprefix("message:").rpartition("|")
            yield Text(text, context=context)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def po_file(language: str) -> Path:
    """Return the file with the translations into a language."""
    return LOCALE / language / "LC_MESSAGES" / "hackathon.po"


def languages() -> list[str]:
    """Return the languages with translations."""
    return sorted(path.name for path in LOCALE.iterdir() if (path / "LC_MESSAGES").is_dir())


def read(language: str) -> Catalog:
    """Return the translations into a language; old texts are not among them."""
    with po_file(language).open("rb") as stream:
        catalogue = read_po(stream, locale=language, domain="hackathon", ignore_obsolete=True)
    for message in catalogue:
        message.flags.discard("python-format")  # a % is a %
    return catalogue


def template(places: Mapping[Text, list[str]]) -> Catalog:
    """Return the texts as Babel has them, in the order of their files."""
    catalogue = Catalog(domain="hackathon", project="hackathon", charset="utf-8")
    for text, files in sorted(places.items(), key=lambda entry: entry[1][0]):
        catalogue.add(text.id, locations=[(name, 0) for name in files], context=text.context or None)
    return catalogue


def update(language: str, places: Mapping[Text, list[str]]) -> None:
    """Write the file of a language anew: texts as they are in the code, translations as they were."""
    catalogue = read(language)
    header = catalogue.header_comment
    catalogue.update(template(places), no_fuzzy_matching=False, update_header_comment=False, update_creation_date=False)
    catalogue.header_comment = header
    catalogue.obsolete.clear()
    write(language, catalogue)


def write(language: str, catalogue: Catalog) -> None:
    """Write the file of a language: no line numbers and no dates, which would change with every edit."""
    for message in catalogue:
        message.locations = [(name, 0) for name, _ in message.locations]
        message.flags.discard("python-format")
        message.previous_id = []
    po_file(language).parent.mkdir(parents=True, exist_ok=True)
    with po_file(language).open("wb") as stream:
        write_po(stream, catalogue, width=100, include_lineno=False, include_previous=False, ignore_obsolete=True)


def lacking(language: str, places: Mapping[Text, list[str]]) -> list[str]:
    """Return what is not as it should be: texts without translation, fuzzy ones, translations without a text."""
    catalogue = read(language)
    complaints = []
    for text, files in places.items():
        message = catalogue.get(text.english, context=text.context or None)
        if message is None or not _translated(message):
            complaints.append(f"{files[0]}: no translation ({language}) of {text.english!r}")
        elif message.fuzzy:
            complaints.append(f"{files[0]}: the English of this was changed; look at its translation: {text.english!r}")
    english = {(text.english, text.context or None) for text in places}
    for message in catalogue:
        single = message.id[0] if isinstance(message.id, tuple | list) else message.id
        if single and (single, message.context) not in english:
            complaints.append(f"{po_file(language).relative_to(ROOT)}: not used any more: {single!r}")
    return complaints


def _translated(message: Message) -> bool:
    forms = message.string if isinstance(message.string, tuple | list) else (message.string,)
    return all(forms)


def main() -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, only name what is missing")
    options = parser.parse_args()
    places = texts()
    for language in languages() if not options.check else ():
        update(language, places)
    complaints = [line for language in languages() for line in lacking(language, places)]
    print("\n".join([*complaints, f"{len(places)} texts, {len(complaints)} to look at"]))
    return int(bool(complaints) and options.check)


if __name__ == "__main__":
    sys.exit(main())
