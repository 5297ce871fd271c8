"""Access control of the dashboard: method, Host, token, origin, and the headers of every answer.

Other pages in the tutor's browser must not read it (DNS rebinding, frames, scripts of other origins), nor on a port
other users of the login node. If forms are enabled, they are accepted only at one address, by POST, from the
dashboard's own pages, and from a browser with its cookie; `form_guard` checks their content.
"""

import hmac
import ipaddress
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Container, MutableMapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from hackathon.web.dashboard.endpoint import Endpoint, host_name

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Header = tuple[bytes, bytes]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Host names of the dashboard through `ssh -L`, with any local port."""
WILDCARDS = frozenset({"0.0.0.0", "::"})
ENTER, ACT = "/enter", "/act"
BROWSER = "hackathon.browser"
"""Key of a request's scope for its browser; empty on a socket, which one account uses."""
SESSION = "hackathon.session"
"""Key of a request's scope for the browser whose forms are accepted; empty without forms."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
WRITING = {
    b"referrer-policy": b"same-origin",  # otherwise browsers would not send a form's origin to the dashboard itself
}
"""Headers of a dashboard with forms, in place of those above."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?\Z")


class Access:
    """An ASGI application in front of the real one: answers refused requests, and adds headers to other answers."""

    def __init__(self, inner: Application, door: Endpoint) -> None:
        self.inner = inner
        self.token = door.token
        self.names, self.any_number = names_of(door)
        # The cookie's name differs between dashboards, because browsers store cookies by host, not by port, and two
        # dashboards forwarded to one laptop are both `localhost`.
        self.cookie = f"hackathon-{secrets.token_hex(4)}"
        self.session = secrets.token_hex(16)
        """The key that signs cookies; each browser that presents the token gets its own cookie."""
        self.writes = door.writes
        self.headers = tuple((name, WRITING.get(name, value) if door.writes else value) for name, value in HEADERS)
        self._entered = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = scope["headers"]
        form = scope["method"] == "POST" and scope["path"] == ACT and self.writes
        if scope["method"] not in ("GET", "HEAD") and not form:
            await refuse(send, 405, "Only GET and HEAD.", [(b"allow", b"GET, HEAD")])
        elif not self.known_host([value for name, value in headers if name == b"host"]):
            await refuse(send, 421, "This address is not served here: use localhost.")
        elif self.token and scope["path"] == ENTER:
            await self._enter(scope, send)
        elif form and not same_origin(headers):
            await refuse(send, 403, "This form comes from another page.", headers=self.headers)
        else:
            browser = self._browser([value for name, value in headers if name == b"cookie"])
            if browser is None and (self.token or form):
                text = "The token is missing or old: open the address that `hackathon dashboard` printed."
                await refuse(send, 403, text)
                return
            answer = with_headers(send, self.headers)
            if browser is None and self.writes:  # on a socket only the account itself can connect
                browser = secrets.token_hex(8)
                answer = with_headers(answer, [(b"set-cookie", self._cookie_of(browser))])
            session = {BROWSER: browser if self.token else "", SESSION: browser if self.writes else ""}
            await self.inner({**scope, **session}, receive, answer)

    def known_host(self, values: Sequence[bytes]) -> bool:
        """Return whether a request's Host headers name this dashboard: exactly one, with any port."""
        return named_by(values, self.names, self.any_number)

    async def _enter(self, scope: Scope, send: Send) -> None:
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        if len(tokens) != 1 or not same(tokens[0], self.token):
            await refuse(send, 403, "This token is wrong or old: open the address that `hackathon dashboard` printed.")
            return
        extra = [(b"location", b"/")]
        browser = self.writes and self._browser([value for name, value in scope["headers"] if name == b"cookie"])
        if self.writes and not browser:
            if self._entered:
                await refuse(send, 403, "Another browser has used this token; this dashboard is for one person.")
                return
            if scope["method"] != "GET":  # a check whether the address exists
                await refuse(send, 405, "Only GET.", [(b"allow", b"GET")])
                return
            self._entered = True
        if not browser:
            extra.append((b"set-cookie", self._cookie_of(secrets.token_hex(8))))
        await refuse(send, 303, "", extra)

    def _cookie_of(self, browser: str) -> bytes:
        return f"{self.cookie}={self._signed(browser)}; Path=/; HttpOnly; SameSite=Lax".encode()

    def _signed(self, browser: str) -> str:
        return f"{browser}.{hmac.digest(self.session.encode(), browser.encode('utf-8', 'replace'), 'sha256').hex()}"

    def _browser(self, values: Sequence[bytes]) -> str | None:
        """Return the browser's name from its cookie; None without a valid one."""
        # SimpleCookie stops at the first malformed cookie, and browsers also send those of every other program on this
        # host name.
        for cookie in b";".join(values).decode("latin-1").split(";"):
            name, _, value = cookie.strip().partition("=")
            if name == self.cookie and same(value, self._signed(browser := value.partition(".")[0])):
                return browser
        return None


def same(text: str, secret: str) -> bool:
    """Return whether two texts are equal, in constant time."""
    return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), secret.encode())


def named_by(values: Sequence[bytes], names: Container[str], any_number: bool = False) -> bool:
    """Return whether a request's Host headers are exactly one of these names, with any port.

    Otherwise a browser could treat the answer as another site's page (DNS rebinding).
    """
    match = _HOST.match(values[0].decode("latin-1")) if len(values) == 1 else None
    if match is None:
        return False
    name = match[1].lower()
    return name in names or (any_number and _is_number(name))


def same_origin(headers: Sequence[Header]) -> bool:
    """Return whether the browser reports that a request is from a page of this address.

    No page can choose these headers. A request without origin and without fetch metadata does not come from a current
    browser.
    """
    host, origins, sites = (
        [value.lower() for name, value in headers if name == header]
        for header in (b"host", b"origin", b"sec-fetch-site")
    )
    if len(host) != 1 or len(origins) > 1 or len(sites) > 1 or not (origins or sites):
        return False
    return origins in ([], [b"http://" + host[0]]) and sites in ([], [b"same-origin"])


async def refuse(
    send: Send, status: int, text: str, extra: Sequence[Header] = (), headers: Sequence[Header] = HEADERS
) -> None:
    """Answer with a status and one plain line, with the usual headers, and close a stranger's connection."""
    body = f"{text}\n".encode() if text else b""
    own = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *extra]
    if status >= 400:
        own.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})


def with_headers(send: Send, headers: Sequence[Header] = HEADERS) -> Send:
    """Return a send function that adds headers to each answer, except those that the answer has."""

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            own_headers = list(message.get("headers", ()))
            names = {name.lower() for name, _ in own_headers}
            message = {**message, "headers": [*own_headers, *(pair for pair in headers if pair[0] not in names)]}
        await send(message)

    return answer


def names_of(door: Endpoint) -> tuple[frozenset[str], bool]:
    """Return the accepted names in Host for an endpoint, and whether any numeric address is accepted."""
    if door.path is not None or door.address == "127.0.0.1":
        return LOCAL | {door.name} - {""}, False
    address = f"[{door.address}]" if ":" in door.address else door.address
    own = {host_name().lower(), os.uname().nodename.lower()}
    # A numeric address comes from no name service, so nobody can redirect it.
    return (LOCAL | {address.lower(), door.name} | own) - {""}, door.address in WILDCARDS


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
