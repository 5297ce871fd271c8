"""Find which of many literals occur in a block of bytes: by Hyperscan, else Aho-Corasick, else Python's search.

All three return the same; only their speed differs. Hyperscan (https://intel.github.io/hyperscan) and ahocorasick_rs
(https://github.com/G-Research/ahocorasick_rs) are imported only when a search is created.
"""

import hashlib
import importlib
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from hackathon.diagnosis.blocks import Block
from hackathon.diagnosis.needles import Needle, escaped
from hackathon.text.files import write_whole
from hackathon.text.paths import user_cache

ENGINES = ("hyperscan", "ahocorasick", "re")
"""Names of the searches, the fastest first."""
SLOW_TO_MAKE = 200_000_000
"""Bytes to read from which Hyperscan's compile time pays off."""
WORTH_A_TABLE = 30_000_000
"""Bytes to read from which a full Aho-Corasick table pays off: it costs 0.2 s and 100 MB and is twice as fast."""
MOST_IN_TABLE = 70_000
"""Literals in a full table, at most."""
KEPT = 20
"""Compiled searches in the user's cache, at most."""


class Matcher(Protocol):
    """A search for needles. The key of a needle's body is twice its index, that of its torn form one more."""

    name: str
    enough: float
    """Bytes to read from which another search is faster, its creation included."""

    def present(self, block: Block) -> Iterable[int]:
        """Return the keys of the forms that may occur in the block, each once, in any order."""


def make_matcher(needles: Sequence[Needle], engine: str | None = None, *, size: int = SLOW_TO_MAKE) -> Matcher:
    """Return a search: the named one, or the fastest available one for `size` bytes. May raise ImportError.

    ImportError: the named search is not available. Hyperscan takes seconds to compile, unless its result is cached, so
    it is not used for little data. A library that does not work on this processor counts as missing.
    """
    makers: dict[str, Callable[[Sequence[Needle]], Matcher]] = {
        "hyperscan": lambda needles: _Hyperscan(needles, from_cache=not engine and size < SLOW_TO_MAKE),
        "ahocorasick": lambda needles: _AhoCorasick(needles, table=size >= WORTH_A_TABLE),
        "re": _Plain,
    }
    for name in [engine] if engine else ENGINES:
        try:
            return makers[name](needles)
        except ImportError:
            if engine:
                raise
    return _Plain(needles)


class _Plain:
    """Search for one literal after another."""

    name = "re"
    enough: float = SLOW_TO_MAKE

    def __init__(self, needles: Sequence[Needle]) -> None:
        self._needles = list(needles)

    def present(self, block: Block) -> list[int]:
        keys = []
        for index, needle in enumerate(self._needles):
            text = block.lowered if needle.folded else block.text
            if needle.body in text:
                keys.append(2 * index)
            if next(needle.torn_places(text, 0, len(text)), None) is not None:
                keys.append(2 * index + 1)
        return keys


class _AhoCorasick:
    """All literals and all torn forms in one automaton."""

    name = "ahocorasick"

    def __init__(self, needles: Sequence[Needle], *, table: bool) -> None:
        library = importlib.import_module("ahocorasick_rs")
        # an automaton has one case rule for all literals; verification discards the extra matches
        self._folded = any(needle.folded for needle in needles)
        keys: dict[bytes, set[int]] = {}
        for index, needle in enumerate(needles):
            for key, literals in ((2 * index, [needle.body]), (2 * index + 1, needle.tails())):
                for literal in literals:
                    keys.setdefault(literal.lower() if self._folded else literal, set()).add(key)
        self._keys = [tuple(indices) for indices in keys.values()]
        table = table and len(keys) <= MOST_IN_TABLE
        kinds = library.Implementation
        kind = kinds.DFA if table else kinds.ContiguousNFA
        self.enough: float = SLOW_TO_MAKE if table or len(keys) > MOST_IN_TABLE else WORTH_A_TABLE
        self._automaton: Any = library.BytesAhoCorasick(list(keys), implementation=kind) if keys else None

    def present(self, block: Block) -> set[int]:
        if self._automaton is None:
            return set()
        text = block.lowered if self._folded else block.text
        matches = self._automaton.find_matches_as_indexes(text, overlapping=True)
        return {key for index in {match[0] for match in matches} for key in self._keys[index]}


class _Hyperscan:
    """All literals and all torn forms in one database, which the user's cache stores in compiled form."""

    name = "hyperscan"
    enough: float = math.inf

    def __init__(self, needles: Sequence[Needle], *, from_cache: bool = False) -> None:
        """`from_cache`: only load it from the cache. Raises ImportError when it is not available."""
        library: Any = importlib.import_module("hyperscan")
        once, caseless = library.HS_FLAG_SINGLEMATCH, library.HS_FLAG_CASELESS
        expressions: list[bytes] = []
        flags: list[int] = []
        keys: list[int] = []
        for index, needle in enumerate(needles):
            for key, expression in ((2 * index, escaped(needle.body)), (2 * index + 1, needle.torn)):
                if expression:
                    expressions.append(expression)
                    flags.append(once | (caseless if needle.folded else 0))
                    keys.append(key)
        self._database: Any = None
        if not expressions:
            return
        try:
            self._database = self._load(library, expressions, flags, keys, from_cache=from_cache)
        except library.HyperscanError as error:
            raise ImportError(f"hyperscan does not work here: {error}") from error

    def present(self, block: Block) -> set[int]:
        keys: set[int] = set()
        if self._database is None:
            return keys
        add = keys.add
        self._database.scan(block.text, match_event_handler=lambda key, start, end, flags, context: add(key))
        return keys

    def _load(
        self, library: Any, expressions: list[bytes], flags: list[int], keys: list[int], *, from_cache: bool
    ) -> Any:
        """Return the database from the cache, else compile it and store it there."""
        described = repr((library.__version__, library.HS_MODE_BLOCK, expressions, flags, keys)).encode()
        try:
            file: Path | None = user_cache() / "rules" / f"{hashlib.sha256(described).hexdigest()}.hyperscan"
        except RuntimeError:
            # this user has no home folder
            file = None
        if file is not None and (database := _recall(library, file)) is not None:
            return database
        if from_cache:
            raise ImportError("nothing compiled in the cache")
        database = library.Database(mode=library.HS_MODE_BLOCK)
        database.compile(expressions=expressions, ids=keys, elements=len(expressions), flags=flags)
        if file is not None:
            _keep(library, file, database)
        return database


def _recall(library: Any, file: Path) -> Any | None:
    try:
        digest, _, payload = file.read_bytes().partition(b"\n")
        if digest != hashlib.sha256(payload).hexdigest().encode():
            return None
        database = library.loadb(payload, library.HS_MODE_BLOCK)
        database.scratch = library.Scratch(database)
        return database
    except (OSError, ValueError, library.HyperscanError):
        # missing, damaged, or compiled for another processor
        return None


def _keep(library: Any, file: Path, database: Any) -> None:
    try:
        payload: bytes = library.dumpb(database)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(file, hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload, mode=0o600)
        files = sorted(file.parent.glob("*.hyperscan"), key=lambda path: path.stat().st_mtime)
        for old in files[:-KEPT]:
            old.unlink(missing_ok=True)
    except (OSError, ValueError, library.HyperscanError):
        return
