"""Every text is translated, gets its values, and has one id; nothing is translated that nobody says."""

import ast
import re
import string
from collections.abc import Iterator
from gettext import GNUTranslations
from io import BytesIO

import pytest

from hackathon.text.locale import mo
from hackathon.text.stored import STORED
from support import sources
from support.paths import ROOT
from support.translations import LANGUAGES, pairs, texts, update

pytest.importorskip("babel")

JAPANESE = re.compile(r"[\u3001-\u30ff\u4e00-\u9fff\uff01-\uff60]")
IDENTIFIER = re.compile(r"[a-z_]+\.[a-z0-9_]+\Z")
CALLS = [
    (f"{path.relative_to(ROOT)}:{node.lineno}", node)
    for path in sources.modules()
    for node in sources.nodes(path)
    if isinstance(node, ast.Call)
]


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def constant(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def fields(text: str) -> set[str]:
    return {name.split(".")[0].split("[")[0] for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def with_ids() -> Iterator[tuple[str, str, str, ast.Call]]:
    """Yield (place, id, English, call) of every message that has an id."""
    for place, call in CALLS:
        first, second = [*map(constant, call.args), "", ""][:2]
        if IDENTIFIER.match(first) and re.search(r"(?:Error|_error|Message|__init__)\Z", name_of(call)):
            yield place, first, second, call


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated_and_no_translation_is_unused(language: str) -> None:
    """`make messages` adds new texts to the .po file; translate them there."""
    assert update().lacking(language, texts()) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_file_is_as_babel_and_gettext_want_it(language: str) -> None:
    catalogue = update().read(language)
    assert [(message.id, list(map(str, errors))) for message, errors in catalogue.check()] == []
    translations = GNUTranslations(BytesIO(mo(update().po_file(language).read_text(encoding="utf-8"))))
    for message in catalogue:
        if message.id and isinstance(message.string, str):
            key = f"{message.context}\x04{message.id}" if message.context else message.id
            assert translations.gettext(key) == message.string
        elif message.id:
            assert translations.ngettext(*message.id, 2) == message.string[-1]


def test_both_languages_have_the_same_placeholders() -> None:
    assert [(files, english) for files, english, translation in pairs() if fields(english) != fields(translation)] == []


def test_texts_are_in_their_language() -> None:
    wrong = []
    for files, english, japanese in pairs():
        # a command is the same for everybody; a language is named in itself
        if all(line.startswith("hackathon ") for line in english.splitlines()) or english in ("English", "日本語"):
            continue
        words = re.sub(r"\{[^{}]*\}", "", english)
        # what has no word of three letters (a unit, a sign, an example of syntax) may be the same in both languages
        translatable = english != japanese or re.search(r"[A-Za-z]{3} [a-z]", words)
        untranslated = translatable and not JAPANESE.search(japanese)
        if untranslated or JAPANESE.search(english) or not english.strip() or not japanese.strip():
            wrong.append((files, english))
    assert wrong == []


def test_an_id_has_one_text() -> None:
    """Who reads an id in JSON or in a record finds one meaning."""
    meanings: dict[str, set[str]] = {identifier: {message.text} for identifier, message in STORED.items()}
    for _, identifier, english, call in with_ids():
        node = call.args[1] if len(call.args) > 1 else None
        if isinstance(node, ast.Call) and name_of(node) == "NP_":
            english = "\x04".join(map(constant, node.args))
        if english:
            meanings.setdefault(identifier, set()).add(english)
    assert {identifier: texts for identifier, texts in meanings.items() if len(texts) > 1} == {}


def test_an_id_without_a_text_is_stored() -> None:
    """`tell("…")`, and an error that has only its id, take the text of `stored.STORED`."""
    told = [(place, constant(call.args[0])) for place, call in CALLS if name_of(call) == "tell" and call.args]
    bare = [
        (place, identifier)
        for place, identifier, english, call in with_ids()
        if name_of(call) != "__init__" and len(call.args) < 2 and not english
    ]
    assert [entry for entry in told + bare if IDENTIFIER.match(entry[1]) and entry[1] not in STORED] == []


def test_no_stored_text_is_unused() -> None:
    words = {
        node.value
        for path in sources.modules()
        if path.name != "stored.py"
        for node in sources.nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    code = "".join(word for word in words if "json.dump" in word)  # what a child of another Python runs
    assert [identifier for identifier in STORED if identifier not in words and identifier not in code] == []


def test_every_placeholder_gets_its_value() -> None:
    """A call gives all values that its text, and an error's hint, wants."""
    lacking = []
    # the help of an option is shown as it stands; braces in it are braces
    helps = {id(keyword.value) for _, call in CALLS for keyword in call.keywords if keyword.arg in ("help", "short")}
    for place, call in CALLS:
        values = {keyword.arg for keyword in call.keywords}
        if id(call) in helps or None in values:
            continue
        name, words = name_of(call), list(map(constant, call.args))
        hints = [constant(keyword.value) for keyword in call.keywords if keyword.arg == "hint"]
        if name in ("_", "ngettext"):
            wanted = words[: 2 if name == "ngettext" else 1]
        elif name == "pgettext":
            wanted = words[1:2]
        elif name.endswith("Error") and len(words) > 1 and IDENTIFIER.match(words[0]):
            wanted = [words[1], *hints]
        else:
            continue
        if not values and name in ("_", "pgettext"):
            continue  # shown as it stands
        missing = set().union(*map(fields, wanted)) - values
        if missing:
            lacking.append(f"{place}: {wanted[0]!r} lacks {sorted(missing)}")
    assert lacking == []
