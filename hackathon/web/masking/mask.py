"""Remove everything that an event does not publish: people, machines, folders, groups, secrets."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from hackathon.config.event import Publish
from hackathon.diagnosis.scrub import REMOVED, holds_secret, own_secrets, without_secrets
from hackathon.schedulers.foreign import ACCOUNTS
from hackathon.text.printable import without_escapes
from hackathon.web.masking.encoded import decoded, has_encoded
from hackathon.web.masking.own_keys import own_keys

KINDS = ("secret", "e-mail", "address", "path", "host", "group", "user", "team")
"""The kinds of masked texts."""
EXAMPLES = 5
"""Originals of each kind that a mask keeps for reports about its work."""
KEPT, LONGEST_KEPT = 50_000, 400
"""Texts, and characters of one, whose masked form is cached, because pages repeat their words."""

_PATH = re.compile(r"(?:/[^\s/'\"`:;,()<>=|&\[\]{}]+)+/?")
_HOMES = frozenset({"home", "user", "users", "Users"})
_SYSTEM = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib64", "opt", "proc", "run", "sbin", "snap", "sys", "tmp", "usr", "var"}
)
"""Top-level folders of every machine."""
_WORDLESS = frozenset({"root", "user", "users", "group", "nobody", "home", "admin", "work", "data", "test", *ACCOUNTS})
"""Names that identify nobody; they stay as words, only their folders are removed."""
_LOCAL = frozenset({"localhost", "ip6-localhost", ""})
# Word boundaries are those of ASCII, because Japanese text follows an address without a space.
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@(?:[\w-]{1,63}\.)+[A-Za-z]{2,24}(?![A-Za-z0-9-])")
_FOUR = re.compile(r"(?<![A-Za-z0-9.-])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![A-Za-z0-9-]|\.[0-9])")
_HEX = r"[0-9A-Fa-f]"
_SIX = re.compile(
    rf"(?i)(?<![A-Za-z0-9:.])(?:(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}|(?:{_HEX}{{1,4}}:){{2,6}}(?::{_HEX}{{1,4}}){{1,5}}"
    rf"|(?:fe80|f[cd]{_HEX}{{2}}|2{_HEX}{{3}}):(?::{_HEX}{{1,4}}){{1,6}}|(?:{_HEX}{{2}}:){{5}}{_HEX}{{2}}"
    rf"|2{_HEX}{{3}}(?::{_HEX}{{1,4}}){{1,6}}::)(?![A-Za-z0-9:])"
)
_LOGIN = re.compile(
    r"(?i)(?<![A-Za-z0-9.@/_-])(?:login|front-?end|submit|gateway)(?:-?node)?-?\d*(?:-\d+)?"
    r"(?:\.[A-Za-z0-9][A-Za-z0-9-]{0,62}){1,5}"
    r"\.(?:com|org|net|edu|gov|mil|int|info|(?!py|sh|js|md|rs|ts|cc|so|pl|gz|ps|go)[a-z]{2})(?![A-Za-z0-9_-]|\.\w)"
)
"""Login nodes, which no job's record contains: `login3.cluster.example.org`."""
_VERSION_BEFORE = re.compile(
    r"(?i)(?:==|version|release|driver|nvidia[\w-]*|cu(?:da|dnn|blas)?[\w-]*|nccl[\w-]*|mpi)\W{0,3}\Z"
)
_WORD = re.compile(r"[A-Za-z0-9_]+")
# Also invisible characters (soft hyphens, zero-width spaces), which could split a name.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069]|(?<!^)\ufeff"
    r"|(?<=[!-~])[\u200c\u200d](?=[!-~])"
)
_QUOTES = re.compile(r"[\"']")
_ACCOUNT = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])[A-Za-z0-9]{4,}\Z")
_LETTER = re.compile(r"[^\W\d_]|[/@.:]")


class Mask:
    """Replaces users by `user`, their folders by `~`, hosts by `host-1`, `host-2`, … in a fixed order, and so on.

    Names that `rules` allow stay; secrets, e-mail addresses and network addresses are always removed. `people` are
    names of persons, `shown` those that may be published: a word of such a name stays even if it is also an account,
    unless it is in `people`. `teams` are the names in their order, `hidden` those that are always removed, `roots`
    folders (of the event, of projects) to which paths are made relative, `secrets` values that are removed everywhere.
    `counts` and `examples` record what was removed so far.
    """

    def __init__(
        self,
        users: Iterable[str] = (),
        hosts: Iterable[str] = (),
        *,
        people: Iterable[str] = (),
        groups: Iterable[str] = (),
        shown: Iterable[str] = (),
        teams: Iterable[str] = (),
        hidden: Iterable[str] = (),
        roots: Iterable[str] = (),
        secrets: Iterable[str] = (),
        rules: Publish | None = None,
    ) -> None:
        self.rules = rules or Publish()
        self._secrets = tuple(sorted({*own_secrets(), *secrets}, key=lambda secret: (-len(secret), secret)))
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, dict[str, None]] = {}
        self._kept: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {}
        self._notes: list[tuple[str, str]] = []
        self._by_word: dict[str, list[tuple[str, re.Pattern[str], str]]] = {}
        self._letters: list[tuple[str, re.Pattern[str], str]] = []
        names = {name for name in users if name}
        self._folders = {name.lower() for name in names} if not self.rules.users else set()
        paying = {name for name in groups if name}
        if not self.rules.groups:
            self._folders |= {name.lower() for name in paying}
        self._roots = tuple(sorted({root.rstrip("/") for root in roots}, key=lambda root: (-len(root), root)))
        short = sorted({host.split(".")[0] for host in hosts if not _FOUR.match(host)} - _LOCAL, key=_natural)
        self._stems = {host.rstrip("0123456789").lower() for host in short} if not self.rules.hosts else set()
        self._login = None if self.rules.hosts else _LOGIN
        if not self.rules.hosts:
            for number, host in enumerate(short, 1):
                self._learn("host", host, f"host-{number}", suffix=r"(?:\.[A-Za-z][\w-]*)*")
        if not self.rules.groups:
            for name in paying - _WORDLESS:
                self._learn("group", name, "group")
        if not self.rules.users:
            people = list(people)
            public = {word.lower() for person in shown for word in person.split()}
            public -= {word.lower() for person in people for word in person.split()}
            for name in names - _WORDLESS:
                if name.lower() not in public:
                    self._learn("user", name, "user")
            for written in {form for person in people if len(person.encode()) > 2 for form in _forms(person)}:
                self._learn("user", written, "user")
        gone = set(hidden)
        for number, name in enumerate(teams, 1):
            if not self.rules.teams or name in gone:
                self._learn("team", name, "team" if name in gone else f"team-{number}")
        for entries in self._by_word.values():
            entries.sort(key=lambda entry: (-len(entry[1].pattern), entry[1].pattern, entry[2]))
        self._letters.sort(key=lambda entry: (-len(entry[1].pattern), entry[1].pattern, entry[2]))
        patterns = sorted((first, kind, pattern.pattern, instead) for first, entries in self._by_word.items()
                       for kind, pattern, instead in entries)  # fmt: skip
        letters = [(kind, pattern.pattern, instead) for kind, pattern, instead in self._letters]
        self.fingerprint = hashlib.sha256(
            repr((patterns, letters, sorted(self._folders), self._roots, self._secrets, self.rules)).encode(
                "utf-8", "replace"
            )
        ).hexdigest()
        """Equal for masks that give equal results."""

    def _learn(self, kind: str, name: str, instead: str, suffix: str = "") -> None:
        if not name.strip():
            return
        first = _WORD.search(name)
        if name.isascii() and first:
            # Digits belong to a name, and so does `_` for one that may be a word; `-` and `.` do not: `alice-digits`
            # and `node1.cluster` match, and for accounts with a number also `tanaka07_digits`.
            joined = "" if kind in ("user", "group") and _ACCOUNT.match(name) else "_"
            words = r"\s+".join(re.escape(part) for part in name.split())
            pattern = re.compile(rf"(?<![A-Za-z0-9{joined}]){words}{suffix}(?![A-Za-z0-9{joined}])", re.IGNORECASE)
            self._by_word.setdefault(first[0].lower(), []).append((kind, pattern, instead))
        else:
            # Japanese names are written with a space, a full-width space or none.
            words = r"\s*".join(re.escape(part) for part in name.split())
            self._letters.append((kind, re.compile(words, re.IGNORECASE), instead))

    def text(self, text: str) -> str:
        """Return a masked text, also without control characters and bytes that are not UTF-8."""
        entry = self._kept.get(text)
        if entry is None:
            self._notes = []
            masked = self._whole(_CONTROL.sub("", without_escapes(text)).encode("utf-8", "replace").decode())
            entry = masked, tuple(self._notes)
            if len(text) <= LONGEST_KEPT:
                if len(self._kept) >= KEPT:
                    self._kept.clear()
                self._kept[text] = entry
        for kind, original in entry[1]:
            self.counts[kind] += 1
            examples = self.examples.setdefault(kind, {})
            if len(examples) < EXAMPLES:
                examples[original] = None
        return entry[0]

    def taken(self, text: str) -> list[tuple[str, str]]:
        """Return (kind, original) of all parts of a text that would be masked; nothing is counted."""
        self._notes = []
        self._whole(text)
        return list(self._notes)

    def value(self, value: Any) -> Any:
        """Return a JSON value or a record with every text masked, including keys that are not this toolkit's words."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.key(key): self.entry(key, entry) for key, entry in value.items()}
        if isinstance(value, (list, tuple)):
            words = ("", *value)
            return type(value)(self.word(words[i], value[i]) for i in range(len(value)))
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{field.name: self.value(getattr(value, field.name)) for field in fields(value)})
        return value

    def key(self, key: Any) -> Any:
        """Return a masked key of a JSON object; keys of this toolkit's records stay, because they identify nobody."""
        return key if key in own_keys() else self.value(key)

    def entry(self, name: object, value: Any) -> Any:
        """Return a masked value; all of it is replaced if its name indicates a secret."""
        if not isinstance(value, str) or value in ("", REMOVED):
            return self.value(value)
        if not (isinstance(name, str) and holds_secret(name, value)):
            return self.value(value)
        return self._secret(name)

    def word(self, before: object, value: Any) -> Any:
        """Return a masked value of a list; all of it is replaced after an option such as `--password`."""
        option = isinstance(before, str) and before.startswith("-") and holds_secret(before, str(value))
        return self.entry(before, value) if option and not str(value).startswith("-") else self.value(value)

    def _secret(self, name: str) -> str:
        self.add({"secret": 1}, {"secret": [f"{name[:80]}: {REMOVED}"]})
        return REMOVED

    def add(self, counts: Mapping[str, int], examples: Mapping[str, Iterable[str]]) -> None:
        """Add the counts and examples of another mask."""
        self.counts.update(counts)
        for kind, originals in examples.items():
            own = self.examples.setdefault(kind, {})
            for original in originals:
                if len(own) < EXAMPLES:
                    own[original] = None

    def _whole(self, text: str) -> str:
        """Return a text masked both in its raw and in its decoded form."""
        masked = self._masked(text)
        if not has_encoded(masked):
            return masked
        lines = masked.split("\n")
        for number, line in enumerate(lines):
            if has_encoded(line):
                plain = decoded(line)
                cleaned = self._masked(plain)
                if cleaned != plain:
                    lines[number] = cleaned
        return "\n".join(lines)

    def _masked(self, text: str) -> str:
        if not _LETTER.search(text):
            return text
        text = self._without_secrets(text)
        if self._login is not None and "." in text:
            text = self._login.sub(self._instead("host", "[host]"), text)
        if "@" in text:
            text = _EMAIL.sub(self._instead("e-mail", "[e-mail]"), text)
        if "/" in text:
            text = _PATH.sub(self._path, text)
        if self._stems and "[" in text:
            text = re.sub(r"(?<![A-Za-z0-9_])([A-Za-z][\w-]*?)\[\d[\d,-]*\]", self._host_list, text)
        for word in dict.fromkeys(_WORD.findall(text.lower())):
            for part in (word, *word.split("_")) if "_" in word else (word,):
                for kind, pattern, instead in self._by_word.get(part, ()):
                    text = pattern.sub(self._instead(kind, instead), text)
        if not text.isascii():
            for kind, pattern, instead in self._letters:
                text = pattern.sub(self._instead(kind, instead), text)
        if text.count(".") >= 3:
            text = _FOUR.sub(self._four, text)
        if text.count(":") >= 2:
            text = _SIX.sub(self._instead("address", "[address]"), text)
        return text

    def _without_secrets(self, text: str) -> str:
        cleaned = without_secrets(text, self._secrets)
        if cleaned != text and _QUOTES.sub("", cleaned) != _QUOTES.sub("", text):
            more = cleaned.count(REMOVED) - text.count(REMOVED)
            line = next((line for line in cleaned.splitlines() if REMOVED in line), "").strip()
            start = max(0, line.find(REMOVED) - 40)
            self._notes += [("secret", line[start : start + 40 + len(REMOVED)])] * max(1, more)
        return cleaned

    def _instead(self, kind: str, instead: str) -> Callable[[re.Match[str]], str]:
        def taken(match: re.Match[str]) -> str:
            self._notes.append((kind, match[0]))
            return instead

        return taken

    def _host_list(self, match: re.Match[str]) -> str:
        if match[1].lower() not in self._stems:
            return match[0]
        self._notes.append(("host", match[0]))
        return "hosts"

    def _four(self, match: re.Match[str]) -> str:
        """Mask an IPv4 address; a version (`cublas 12.8.4.1`) and this machine itself (`127.0.0.1`) stay."""
        numbers = [int(part) for part in match[0].split(".")]
        before = match.string[max(0, match.start() - 40) : match.start()]
        if max(numbers) > 255 or numbers[0] in (0, 127) or _VERSION_BEFORE.search(before):
            return match[0]
        self._notes.append(("address", match[0]))
        return "[address]"

    def _path(self, match: re.Match[str]) -> str:
        path = match[0]
        if not any(map(str.isalnum, path)):  # a part of a pattern: `${program%/*/*}`
            return path
        parts = path.strip("/").split("/")
        owned = max((i for i, part in enumerate(parts) if part.lower() in self._folders), default=-1)
        if parts[0] == "export" and len(parts) > 1 and parts[1] == "home":
            owned = max(owned, min(2, len(parts) - 1))
        elif parts[0] in _HOMES and len(parts) > 1 and not self.rules.users:
            owned = max(owned, 1)
        elif parts[0] == "root":
            owned = max(owned, 0)
        if owned >= 0:
            self._notes.append(("path", path))
            return "/".join(["~", *parts[owned + 1 :]])
        if self.rules.paths:
            return path
        for root in self._roots:
            if root and (path == root or path.startswith(f"{root}/")):
                self._notes.append(("path", path))
                return f"~{path[len(root) :]}"
        # After a word or a dot it is a relative path (`tokens/s/GPU`, `./a/b`), or a web address.
        before = match.string[match.start() - 1 : match.start()]
        joined = before.isascii() and before.isalnum()
        if len(parts) < 2 or parts[0] in _SYSTEM or joined or before in ("_", ".", "/", "~", "}", "…"):
            return path
        self._notes.append(("path", path))
        return f"…/{parts[-1]}"


def _forms(name: str) -> set[str]:
    """Return the spellings of a person's name: composed or decomposed, and with the family name first or last."""
    parts = name.split()
    orders = {" ".join(parts), *((f"{parts[1]} {parts[0]}", f"{parts[1]}, {parts[0]}") if len(parts) == 2 else ())}
    return {unicodedata.normalize(form, order) for order in orders for form in ("NFC", "NFD")}


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d{1,9})", name)
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]
