"""Remove secrets, home folders and user names from a text before others get it.

Rather too much is removed than too little: a tutor can ask for a missing word, but a published token must be revoked.
"""

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from hackathon.schedulers.foreign import ACCOUNTS

REMOVED = "[removed]"
"""Replacement for a secret."""
_KEY_REMOVED = f"{REMOVED} (private key)"
LEAST = 6
"""Shortest secret of the environment, in characters, that is removed everywhere: shorter ones are ordinary words."""

# Only the end of a variable's name is tested; any prefix is allowed.
_STRONG = (
    r"(?:secret|passw(?:or)?d|passphrase|passcode|credentials?|api[_-]?key|access[_-]?key|private[_-]?key|"
    r"auth[_-]?key|account[_-]?key|encryption[_-]?key|license[_-]?key|webhook|authorization|cookie|signature)"
    r"(?:[_-][A-Za-z0-9_-]{0,40})?"
)
# Words about text, not secrets: tokenizers, and numbers of tokens.
_WEAK = (
    r"(?<!pad_)(?<!eos_)(?<!bos_)(?<!unk_)(?<!cls_)(?<!sep_)(?<!mask_)(?<!per_)(?:token|(?<![a-z0-9])(?:pwd|auth|sig))"
)
_NAME = rf"(?:{_STRONG}|{_WEAK})"
_HINTS = ("token", "secret", "pass", "credential", "key", "webhook", "auth", "cookie", "signature", "pwd", "sig",
          "bearer", "basic", "wandb", "mysql", "mariadb", "curl", "redis-cli")  # fmt: skip
"""A line without any of these contains no assignment or header to check."""
_QUOTED = r"\"(?:[^\"\\\n]|\\.){0,8192}\"?|'(?:[^'\\\n]|\\.){0,8192}'?"
_SCHEME = r"(?:bearer|basic|token|digest|negotiate|apikey) +"

_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]{0,16384}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:[A-Za-z0-9+/=\s]|\\n)*)"
)
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE = re.compile(r"(?:\S{0,60} )?[A-Za-z0-9+/=]{16,80}\s*\Z")
_HEADER = re.compile(
    r"(?i)((?:proxy-)?authorization|(?:set-)?cookie|x-(?:api|auth|amz|goog|ms)[a-z0-9-]{0,40}|private-token|job-token)"
    rf"(\"?'?\s{{0,4}}[:=,]\s{{0,4}}\"?'?)((?:{_SCHEME})?)[^\"'\n]{{1,8192}}"
)
_BEARER = re.compile(r"(?i)\b((?:bearer|basic) +)(?=[A-Za-z0-9._~+/-]*[\d=])[A-Za-z0-9._~+/=-]{8,}")
# NAME=value at the start of a line, as `env` prints it: the value ends with the line.
_VARIABLE = re.compile(
    rf"(?i)\A((?:export |declare -x |setenv )?[A-Za-z0-9_]{{0,80}}?{_NAME}=)(?!\"|'|(?:true|false|none)\Z)[^\n]+"
)
_ASSIGNED = re.compile(
    rf"(?i)({_NAME})(\"?'?\s{{0,4}}(?:=>|:=|=|:)\s{{0,4}})({_QUOTED}|(?:{_SCHEME})?[^\s\"',;&(){{}}<>\[\]]{{1,8192}})"
)
_OPTION = re.compile(
    rf"(?i)((?<!\S)--?[a-z0-9-]{{0,40}}(?:{_STRONG}|token) +)({_QUOTED}|[^\s\"'\[-][^\s\"']{{0,8192}})"
)
_NETRC = re.compile(r"(?i)(\bmachine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+)\S+")
_LOGIN = re.compile(r"(?i)(\b(?:sshpass -p ?|wandb login (?:--relogin )?))[^\s-]\S*")
_TOOL = re.compile(
    r"(\b(?:mysql\w{0,10}|mariadb\w{0,10})\b[^\n|;&]{0,400}?\s-p|"
    r"\bredis-cli\b[^\n|;&]{0,400}?\s-a[ =]|"
    r"\bcurl\b[^\n|;&]{0,400}?\s(?:-u|-U|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{1,80}:)([^\s\"']{2,512})"
)
"""Options of common tools: `mysql -pPASSWORD`, `curl -u user:PASSWORD`, `redis-cli -a PASSWORD`."""
_URL_USER = re.compile(r"(?<=://)[^\s/@\"'<>]{1,512}(?=@)")
_URL_HOOK = re.compile(
    r"(?i)((?:hooks\.slack\.com/(?:services|workflows|triggers)|/hooks|/api/webhooks|/webhookb2|/v1/spaces|"
    r"/incoming-?webhooks?|/powerautomate|/workflows)/)(?!\[removed)[^\s\"'<>)\]]{6,2048}"
)
_URL_PART = re.compile(
    r"(?i)([?&;](?:[a-z0-9_.-]{0,40}(?:token|secret|password|passwd|signature|credential|api_?key|access_?key)|sig|key|"
    r"auth|code|sas|se|pwd|session(?:id)?|x-amz-[a-z-]{1,30}|x-goog-[a-z-]{1,30})=)[^\s&\"'<>#;]{1,4096}"
)
# AWS; Hugging Face; GitHub and GitLab; Slack; OpenAI, Anthropic and Stripe; Google; JSON web tokens; others
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ABIA|ACCA)[0-9A-Z]{12,}"
    r"|hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|gl(?:pat|dt|rt|cbt|ptt|soat)-[\w-]{16,}"
    r"|xox[a-z]-[\w-]{8,}|xapp-[\w-]{8,}"
    r"|sk-[A-Za-z0-9_-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{8,}"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,}"
    r"|eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?"
    r"|pypi-[\w-]{16,}|npm_[A-Za-z0-9]{16,}|dckr_pat_[\w-]{8,}|dapi[0-9a-f]{16,}|nvapi-[\w-]{16,}|wandb_v1_[\w-]{16,}"
    r"|SG\.[\w-]{8,}\.[\w-]{8,}|MUNGE:[A-Za-z0-9+/=]{16,}:?|\d{6,12}:AA[\w-]{30,}|AGE-SECRET-KEY-1[0-9A-Z]{16,}"
    r")"
)
_HOME = re.compile(r"/(?:home|users?|Users|export/home|home\d{1,3})/[^\s/'\":;,()<>\[\]{}\\|&]+|/root(?![\w-])")
_SECRET_NAME = re.compile(rf"(?i){_NAME}\Z")
_KEY_NAME = re.compile(r"(?i)(?:\A|[_-])key\Z")
_URL_PASSWORD = re.compile(r"(?<=://)[^\s/@:\"'<>]{0,200}:([^\s/@\"'<>]{1,512})(?=@)")
_NOBODY = frozenset({"root", "user", "users", "nobody", "home", "admin", "work", "data", "test", *ACCOUNTS})
"""User names that do not identify anybody or are ordinary words: only their home folders are removed."""


def scrub(text: str, users: Iterable[str] = ()) -> str:
    """Return a text with secrets as `[removed]`, home folders as `~` and user names as `user`.

    Secrets are recognised by the name before them, by the form of a well-known service's token, by their position in an
    address or header, and as values of secret variables in this process's environment. User names: `users` and the
    current user.
    """
    return _nameless(without_secrets(text), tuple(sorted({*users, *own_names()})))


def without_secrets(text: str, own: Sequence[str] | None = None) -> str:
    """Return a text with only the secrets removed, by the same rules as `scrub`.

    `own`: an earlier result of `own_secrets`, for callers with thousands of texts.
    """
    for secret in own_secrets() if own is None else own:
        text = text.replace(secret, REMOVED)
    if "PRIVATE KEY" in text:
        text = _without_keys(text)
    return "\n".join(map(_scrub_line, text.split("\n")))


def is_secret(name: str) -> bool:
    """Return whether a variable's name marks its value as a secret."""
    return _SECRET_NAME.search(name) is not None


def holds_secret(name: str, value: str) -> bool:
    """Return whether a value is a secret by its name or, for a name such as `wandb-key`, also by its form."""
    return is_secret(name) or (_KEY_NAME.search(name) is not None and _looks_random(value))


def learnable(values: Iterable[str]) -> set[str]:
    """Return the secrets that are safe to remove everywhere: no paths, switches, numbers or short words."""
    return {
        value for value in values
        if len(value) >= LEAST and not _PLAIN.match(value) and sum(map(str.isalnum, value)) >= LEAST
    }  # fmt: skip


def values_of_secrets(text: str) -> set[str]:
    """Return values after a secret's name in a text that do not look like words: they are secrets everywhere."""
    secrets: set[str] = set()
    for line in text.split("\n"):
        lowered = line.lower()
        if "://" in line:
            secrets.update(match[1] for match in _URL_PASSWORD.finditer(line))
        if any(hint in lowered for hint in _HINTS):
            secrets.update(match[2].strip("\"'") for match in _OPTION.finditer(line))
            secrets.update(match[3].strip("\"'") for match in _ASSIGNED.finditer(line))
            secrets.update(match[2] for match in _TOOL.finditer(line))
    return {value for value in learnable(secrets) if _looks_random(value, 8)}


def words_of_secrets(words: Sequence[object]) -> set[str]:
    """Return the secret values among a command's options: `--password X`, `--wandb-key=X`, `curl -u a:X`."""
    secrets: set[str] = set()
    for before, word in zip(("", *words), words, strict=False):
        if not isinstance(word, str):
            continue
        name, equals, value = word.partition("=")
        if equals and name.startswith("-") and holds_secret(name, value):
            secrets.add(value)
        elif isinstance(before, str) and before.startswith("-") and holds_secret(before, word) and word[:1] != "-":
            secrets.add(word)
        secrets |= {match[1] for match in _URL_PASSWORD.finditer(word)}
    secrets |= {match[2] for match in _TOOL.finditer(" ".join(word for word in words if isinstance(word, str)))}
    return learnable(secrets)


def _looks_random(value: str, least: int = 16) -> bool:
    """Return whether a value is long, has letters and digits, and has no characters of code or paths."""
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    return len(value) >= least and letters and digits and re.search(r"[\s(){}\[\]<>/,;$]|\w\.\w", value) is None


def _without_keys(text: str) -> str:
    """Return a text without private keys, including keys without their beginning or end."""
    text = _KEY_BLOCK.sub(_KEY_REMOVED, text)
    while end := _KEY_END.search(text):
        lines = text[: end.start()].split("\n")
        last = lines.pop()
        while lines and _KEY_LINE.match(lines[-1]):
            lines.pop()
        text = "\n".join([*lines, f"{last if ' ' in last[:60] else ''}{_KEY_REMOVED}{text[end.end() :]}"])
    return text


def _scrub_line(line: str) -> str:
    if "/" in line and ("://" in line or "hooks" in line):
        line = _URL_HOOK.sub(rf"\1{REMOVED}", line)
        line = _URL_USER.sub(REMOVED, line)
        line = _URL_PART.sub(rf"\1{REMOVED}", line)
    lowered = line.lower()
    if any(hint in lowered for hint in _HINTS):
        line = _HEADER.sub(rf"\1\2{REMOVED}", line)
        line = _BEARER.sub(rf"\1{REMOVED}", line)
        line = _NETRC.sub(rf"\1{REMOVED}", line)
        line = _LOGIN.sub(rf"\1{REMOVED}", line)
        line = _TOOL.sub(rf"\1{REMOVED}", line)
        line = _VARIABLE.sub(rf"\1{REMOVED}", line)
        line = _ASSIGNED.sub(_assigned, line)
        line = _OPTION.sub(rf"\1{REMOVED}", line)
    return _SHAPES.sub(REMOVED, line)


def _assigned(match: re.Match[str]) -> str:
    name, sign, value = match.groups()
    if value.strip("\"'") in ("", "None", "null", "true", "false", "True", "False", REMOVED, REMOVED[:-1]):
        return match[0]
    quote = value[0] if value[0] in "\"'" else '"' if sign[:1] == '"' else ""
    return f"{name}{sign}{quote}{REMOVED}{quote}"


def own_secrets() -> tuple[str, ...]:
    """Return the secret values of this process's environment, the longest first."""
    secrets = {value for name, value in os.environ.items() if len(value) >= LEAST and is_secret(name)}
    return _secrets(tuple(sorted(secrets)))


_PLAIN = re.compile(r"[/~.$]|(?:true|false|\d{1,8})\Z", re.IGNORECASE)
"""A path or a switch is not a secret, whatever its variable's name (SSH_AUTH_SOCK, XAUTHORITY, …_TOKEN_FILE)."""


@lru_cache(maxsize=4)
def _secrets(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted((value for value in values if not _PLAIN.match(value)), key=len, reverse=True))


def own_names() -> set[str]:
    """Return the current user's names."""
    import pwd

    names = {os.environ.get("USER", ""), os.environ.get("LOGNAME", "")}
    try:
        names.add(pwd.getpwuid(os.getuid()).pw_name)
    except KeyError:  # the user database has no name for this user
        pass
    return {name for name in names if name}


def _nameless(text: str, users: tuple[str, ...]) -> str:
    home = os.environ.get("HOME", "").rstrip("/")
    if home.count("/") >= 2:
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
    text = _HOME.sub("~", text)
    for user in sorted(users, key=len, reverse=True):
        if user in _NOBODY:
            continue
        # in a path any name is a folder's; elsewhere a short one may be a word
        before = r"(?<![A-Za-z0-9_])" if len(user) >= 3 else r"(?<=/)"
        text = re.sub(rf"{before}{re.escape(user)}(?![A-Za-z0-9_])", "user", text)
    return text
