"""Every message that the program can ask for is in the catalogue, in both languages, and none lies there unused."""

import ast
import importlib
import re
import string
from collections.abc import Iterator
from functools import cache

from hackathon.text.catalogue import FOLDERS
from hackathon.text.messages import lookup
from support import sources
from support.paths import ROOT

CATALOGUE = ROOT / "hackathon" / "text" / "catalogue"
PACKAGES = sorted(FOLDERS)
MODULES = [path for path in sources.modules() if CATALOGUE not in path.parents]
IDENTIFIER = re.compile(rf"(?:{'|'.join(PACKAGES)})\.[a-z][a-z0-9_]*")
TEMPLATES = sorted(path for path in (ROOT / "templates").rglob("*") if path.suffix in (".j2", ".json"))
JAPANESE = re.compile(r"[\u3001-\u30ff\u4e00-\u9fff\uff01-\uff60]")


@cache
def messages(package: str) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = importlib.import_module(
        f"hackathon.text.catalogue.{FOLDERS[package]}.{package}"
    ).MESSAGES
    return found


ALL = [(package, key) for package in PACKAGES for key in messages(package)]


def nodes() -> list[tuple[str, tuple[ast.AST, ...]]]:
    """Return (name, all nodes of the syntax tree) of every module."""
    return [(str(path.relative_to(ROOT)), sources.nodes(path)) for path in MODULES]


def asked() -> list[tuple[str, str]]:
    """Return (place, id) of every call whose first argument is a literal message id."""
    return [
        (f"{name}:{node.lineno}", node.args[0].value)
        for name, found in nodes()
        for node in found
        if isinstance(node, ast.Call)
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
        and IDENTIFIER.fullmatch(node.args[0].value)
    ]


def fields(text: str) -> set[str]:
    return {name.split(".")[0].split("[")[0] for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_the_list_of_folders_is_complete() -> None:
    there = {path.stem: path.parent.name for path in CATALOGUE.glob("*/[!_]*.py")}
    assert there == FOLDERS
    assert not list(CATALOGUE.glob("[!_]*.py")), "a module of texts belongs into the folder of its package"


def test_every_message_that_is_asked_for_exists() -> None:
    assert [f"{place}: {identifier}" for place, identifier in asked() if not lookup(identifier)] == []


def test_both_languages_have_the_same_placeholders() -> None:
    different = [
        f"{package}.{key}" for package, key in ALL if len(set(map(frozenset, map(fields, messages(package)[key])))) > 1
    ]
    assert different == []


def test_texts_are_in_their_language() -> None:
    wrong = []
    for package, key in ALL:
        english, japanese = messages(package)[key]
        # a language is named in itself; a command is the same for everybody
        if key.startswith("language_") or all(line.startswith("hackathon ") for line in english.splitlines()):
            continue
        words = re.sub(r"\{[^{}]*\}", "", english)
        # what has no word of three letters (a unit, a sign, an example of syntax) may be the same in both languages
        translatable = english != japanese or re.search(r"[A-Za-z]{3} [a-z]", words)
        untranslated = translatable and not JAPANESE.search(japanese)
        if untranslated or JAPANESE.search(english) or not english.strip() or not japanese.strip():
            wrong.append(f"{package}.{key}")
    assert wrong == []


def _literals() -> set[str]:
    """Return the ids that stand in code and templates as text."""
    words = {
        match[0]
        for _, found in nodes()
        for node in found
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for match in IDENTIFIER.finditer(node.value)
    }
    return words.union(*(IDENTIFIER.findall(path.read_text(encoding="utf-8")) for path in TEMPLATES))


def test_no_message_is_unused() -> None:
    words = _literals()
    # a hint belongs to its message and is found by the error itself; click asks for its texts by their English
    names = {f"{package}.{key}" for package, key in ALL if package != "click"}
    assert sorted(name for name in names if not {name, name.removesuffix("_hint")} & words) == []


def test_no_id_is_put_together() -> None:
    """Whoever looks for the id of a message finds the place that says it, and an id that nothing says is found."""
    begins = tuple(f"{package}." for package in PACKAGES)
    composed = [
        f"{name}:{node.lineno}"
        for name, found in nodes()
        for node in found
        for part in (
            node.values[:1] if isinstance(node, ast.JoinedStr) else [node.left] if isinstance(node, ast.BinOp) else ()
        )
        if isinstance(part, ast.Constant) and str(part.value).startswith(begins) and not name.endswith("click_texts.py")
    ]
    templates = [
        path.name for path in TEMPLATES if re.search(r"""\bt\(["'][^"']*["'] ~""", path.read_text(encoding="utf-8"))
    ]
    assert composed + templates == []


def test_hints_belong_to_a_message() -> None:
    hints = [(package, key) for package, key in ALL if key.endswith("_hint")]
    assert [f"{package}.{key}" for package, key in hints if key.removesuffix("_hint") not in messages(package)] == []


def test_every_placeholder_gets_its_value() -> None:
    """`message("…")` and `…Error("…")` give all values that the text, and an error's hint, wants."""
    assert [each for name, found in nodes() for each in _lacking(name, found)] == []


def _lacking(module: str, found: tuple[ast.AST, ...]) -> Iterator[str]:
    # the help of an option is shown as it stands; braces in it are braces
    helps = {id(node.value) for node in found if isinstance(node, ast.keyword) and node.arg == "help"}
    for node in found:
        if (
            id(node) in helps
            or not isinstance(node, ast.Call)
            or not node.args
            or not isinstance(node.args[0], ast.Constant)
        ):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        identifier = str(node.args[0].value)
        given = {keyword.arg for keyword in node.keywords}
        if not (name in ("message", "tell") or name.endswith("Error")) or None in given or not lookup(identifier):
            continue
        texts = [lookup(identifier), lookup(f"{identifier}_hint") if name not in ("message", "tell") else None]
        wanted = set().union(*(fields(pair[0]) for pair in texts if pair))
        if wanted - given:
            yield f"{module}:{node.lineno}: {identifier} lacks {sorted(wanted - given)}"
