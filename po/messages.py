"""Write the message catalogue as one .po file per language for review, and read the edits back into its modules.

    python po/messages.py          read po/en.po and po/ja.po where they exist, then write both anew (`make messages`)
    python po/messages.py --check  only name translations whose English has changed since; exit code 1 if there are any

The catalogue (`hackathon/text/catalogue`) stays the source; the .po files are for tools like Poedit and are not kept.
`po/reviewed.tsv` holds, for each message, digests of the English and the Japanese text as they were last seen to belong
together. A translation is marked fuzzy when its English has changed since and it has not.
"""

import argparse
import ast
import hashlib
import json
import re
import string
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = ROOT / "hackathon" / "text" / "catalogue"
LANGUAGES = ("en", "ja")
_WIDTH = 110
_WRITTEN = "text when written: "
# \b keeps click from wrapping a paragraph; .po tools do not know it
_BREAK, _SHOWN_BREAK = "\b", "␈"


class Pair(NamedTuple):
    """Both texts of a message."""

    english: str
    japanese: str


class Reviewed(NamedTuple):
    """Digests of both texts when they were last seen to belong together."""

    english: str
    japanese: str


@dataclass(frozen=True)
class Place:
    """Where both texts of a message stand in the source."""

    path: Path
    nodes: tuple[ast.Constant, ast.Constant]


@dataclass
class Reading:
    """What came back from a .po file: new texts, confirmed translations, and what was refused and why."""

    texts: dict[str, str] = field(default_factory=dict)
    confirmed: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)


def digest(text: str) -> str:
    """Return eight hexadecimal digits that change with the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


# ---------------------------------------------------------------------------------------- the catalogue's Python source


def entries(catalogue: Path = CATALOGUE) -> Iterator[tuple[str, Pair, Place]]:
    """Yield (id, texts, place) of every message, in the order of the files."""
    for path in sorted(catalogue.glob("*/*.py")):
        # `_help_event.py` is a part of `help.py`
        name = path.stem.split("_")[1] if path.stem.startswith("_") else path.stem
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Dict):
                continue
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Tuple):
                    english, japanese = (each for each in value.elts if isinstance(each, ast.Constant))
                    pair = Pair(str(english.value), str(japanese.value))
                    yield f"{name}.{key.value}", pair, Place(path, (english, japanese))


def literal(text: str, indent: int) -> str:
    """Return Python source of the text: one string, or a column of strings that are joined."""
    pieces: list[str] = []
    for line in text.splitlines(keepends=True) or [""]:
        pieces += _folded(line)
    source = ("\n" + " " * indent).join(json.dumps(piece, ensure_ascii=False) for piece in pieces)
    return source.replace("\x7f", "\\x7f")


def _folded(line: str) -> list[str]:
    """Return the line cut after a space, or after a full stop or comma of Japanese, where it gets too wide."""
    pieces, piece, width, cut = [], "", 0, 0
    for letter in line:
        piece += letter
        width += 2 if ord(letter) > 0x2E80 else 1
        if letter in " 。、":
            cut = len(piece)
        if width > _WIDTH and cut:
            pieces.append(piece[:cut])
            piece = piece[cut:]
            width, cut = sum(2 if ord(each) > 0x2E80 else 1 for each in piece), 0
    return [*pieces, piece] if piece or not pieces else pieces


def change(texts: Mapping[str, Mapping[str, str]], catalogue: Path = CATALOGUE) -> list[Path]:
    """Set texts (id → language → text) in the catalogue's modules; return the files changed.

    Only the strings themselves are replaced: order, comments and everything else stay.
    """
    edits: dict[Path, list[tuple[ast.Constant, str]]] = {}
    for identifier, pair, place in entries(catalogue):
        for language, node, old in zip(LANGUAGES, place.nodes, pair, strict=True):
            new = texts.get(identifier, {}).get(language, old)
            if new != old:
                edits.setdefault(place.path, []).append((node, new))
    for path, found in edits.items():
        lines = path.read_text(encoding="utf-8").encode().splitlines(keepends=True)
        begins = [0]
        for line in lines:
            begins.append(begins[-1] + len(line))
        source = b"".join(lines)
        for node, text in sorted(found, key=lambda each: (each[0].lineno, each[0].col_offset), reverse=True):
            assert node.end_lineno is not None and node.end_col_offset is not None
            begin = begins[node.lineno - 1] + node.col_offset
            end = begins[node.end_lineno - 1] + node.end_col_offset
            source = source[:begin] + literal(text, node.col_offset).encode() + source[end:]
        path.write_bytes(source)
    if edits:
        subprocess.run(
            [sys.executable, "-m", "ruff", "format", "--quiet", "--config", ROOT / "pyproject.toml", *edits], check=True
        )
    return list(edits)


# --------------------------------------------------------------------------------------- which translations are current


def read_reviewed(path: Path) -> dict[str, Reviewed]:
    """Return the digests of `reviewed.tsv`, none if the file is not there; lines of a merge conflict are skipped."""
    found = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if len(parts := line.split("\t")) == 3:
                found[parts[0]] = Reviewed(*parts[1:])
    return found


def write_reviewed(path: Path, reviewed: Mapping[str, Reviewed]) -> None:
    """Write the digests, one line per message in the order of ids, so that branches merge."""
    path.write_text("".join(f"{key}\t{each.english}\t{each.japanese}\n" for key, each in sorted(reviewed.items())))


def stale(identifier: str, pair: Pair, reviewed: Mapping[str, Reviewed]) -> bool:
    """Return whether the English text has changed since the translation was reviewed, and the translation has not."""
    known = reviewed.get(identifier)
    return known is not None and digest(pair.english) != known.english and digest(pair.japanese) == known.japanese


def refreshed(pairs: Mapping[str, Pair], reviewed: Mapping[str, Reviewed]) -> dict[str, Reviewed]:
    """Return the digests of today's texts; a stale translation keeps its old ones, so that it stays marked."""
    return {
        identifier: reviewed[identifier]
        if stale(identifier, pair, reviewed)
        else Reviewed(digest(pair.english), digest(pair.japanese))
        for identifier, pair in pairs.items()
    }


# ------------------------------------------------------------------------------------------------------------ .po files


def write_language(path: Path, language: str, reviewed: Mapping[str, Reviewed], catalogue: Path = CATALOGUE) -> None:
    """Write all messages as a .po file: msgctxt is the id, msgid the English text, msgstr the language's text."""
    made = Catalog(
        locale=language, project="hackathon", version="", fuzzy=False, header_comment="# Made by `make messages`."
    )
    for identifier, pair, place in entries(catalogue):
        text = pair[LANGUAGES.index(language)]
        flags = ["fuzzy"] if language != "en" and stale(identifier, pair, reviewed) else []
        made.add(
            pair.english.replace(_BREAK, _SHOWN_BREAK),
            text.replace(_BREAK, _SHOWN_BREAK),
            context=identifier,
            flags=flags,
            auto_comments=[_WRITTEN + digest(text)],
            locations=[(place.path.relative_to(catalogue).as_posix(), place.nodes[0].lineno)],
        )
    with path.open("wb") as file:
        write_po(file, made, width=100, omit_header=False)


def read_language(path: Path, language: str, pairs: Mapping[str, Pair]) -> Reading:
    """Return what a reviewer changed in the .po file, held against today's catalogue.

    An edit is refused when its placeholders differ from the English ones, when the message is gone, and when the
    catalogue's own text has changed since the file was written: whoever edits later would undo the other's work.
    """
    reading = Reading()
    with path.open("rb") as file:
        found = read_po(file, locale=language)
    for entry in found:
        if not entry.id or not entry.context:
            continue
        identifier, text = entry.context, str(entry.string).replace(_SHOWN_BREAK, _BREAK)
        pair = pairs.get(identifier)
        written = next((each.removeprefix(_WRITTEN) for each in entry.auto_comments if each.startswith(_WRITTEN)), "")
        if digest(text) == written:  # left alone; a cleared mark still says that somebody has looked at it
            if pair and language != "en" and not entry.fuzzy and _english(entry) == pair.english:
                reading.confirmed.add(identifier)
            continue
        reason = _refusal(language, entry, text, pair, written)
        if reason:
            reading.refused.append(f"{path.name}: {identifier}: {reason}")
        elif pair and text != pair[LANGUAGES.index(language)]:
            reading.texts[identifier] = text
            if language != "en" and not entry.fuzzy:
                reading.confirmed.add(identifier)
    return reading


def _english(entry: Message) -> str:
    return str(entry.id).replace(_SHOWN_BREAK, _BREAK)


def _refusal(language: str, entry: Message, text: str, pair: Pair | None, written: str) -> str:
    if pair is None:
        return "the catalogue no longer has this message"
    today = pair[LANGUAGES.index(language)]
    if text == today:
        return ""
    if digest(today) != written:
        return "the catalogue's text has changed since this file was written; write the file anew"
    if not text.strip():
        return "the text is empty"
    try:
        if placeholders(text) != placeholders(today):
            return f"placeholders differ: {sorted(placeholders(text) ^ placeholders(today))}"
    except ValueError as error:
        return f"placeholders cannot be read: {error}"
    return ""


def placeholders(text: str) -> set[str]:
    """Return the names of the `str.format` fields of a text. Raises ValueError for a brace that is not closed."""
    return {re.split(r"[.\[]", name)[0] for _, name, _, _ in string.Formatter().parse(text) if name is not None}


# --------------------------------------------------------------------------------------------------------- command line


def exchange(folder: Path, catalogue: Path = CATALOGUE) -> list[str]:
    """Read `en.po` and `ja.po` of the folder where they exist, write both anew; return what is to be told."""
    reviewed_path = folder / "reviewed.tsv"
    reviewed = read_reviewed(reviewed_path)
    told: list[str] = []
    pairs = {identifier: pair for identifier, pair, _ in entries(catalogue)}
    texts: dict[str, dict[str, str]] = {}
    confirmed: set[str] = set()
    for language in LANGUAGES:
        if (folder / f"{language}.po").exists():
            reading = read_language(folder / f"{language}.po", language, pairs)
            confirmed |= reading.confirmed
            told += [f"not taken: {each}" for each in reading.refused]
            for identifier, text in reading.texts.items():
                texts.setdefault(identifier, {})[language] = text
    # English that changed in the same review makes the translation stale again, unless that was edited too
    confirmed -= {identifier for identifier, both in texts.items() if "en" in both and "ja" not in both}
    edited_but_fuzzy = {identifier for identifier, both in texts.items() if "ja" in both} - confirmed
    told += [f"changed: {path.relative_to(catalogue)}" for path in change(texts, catalogue)]
    pairs = {identifier: pair for identifier, pair, _ in entries(catalogue)}
    for identifier in confirmed:
        reviewed[identifier] = Reviewed(*(digest(text) for text in pairs[identifier]))
    for identifier in edited_but_fuzzy & reviewed.keys():
        reviewed[identifier] = Reviewed(reviewed[identifier].english, digest(pairs[identifier].japanese))
    reviewed = refreshed(pairs, reviewed)
    write_reviewed(reviewed_path, reviewed)
    for language in LANGUAGES:
        write_language(folder / f"{language}.po", language, reviewed, catalogue)
    return told + _stale_lines(pairs, reviewed)


def _stale_lines(pairs: Mapping[str, Pair], reviewed: Mapping[str, Reviewed]) -> list[str]:
    return [f"fuzzy: {identifier}" for identifier, pair in pairs.items() if stale(identifier, pair, reviewed)]


def main(arguments: Iterable[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only name translations whose English has changed since")
    parser.add_argument("--folder", type=Path, default=ROOT / "po", help="where the .po files lie")
    options = parser.parse_args(None if arguments is None else list(arguments))
    if options.check:
        pairs = {identifier: pair for identifier, pair, _ in entries()}
        lines = _stale_lines(pairs, read_reviewed(options.folder / "reviewed.tsv"))
    else:
        lines = exchange(options.folder)
    print("\n".join([*lines, f"{sum(each.startswith('fuzzy: ') for each in lines)} translations to look at"]))
    return int(any(each.startswith(("not taken: ", "fuzzy: ") if options.check else "not taken: ") for each in lines))


if __name__ == "__main__":
    sys.exit(main())
