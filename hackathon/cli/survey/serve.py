"""`hackathon survey serve`: serve the form for browsers and phones, or write it as a file that works offline."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import named
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.messages import message

if TYPE_CHECKING:
    import socket

    from hackathon.survey.collection import Collection
    from hackathon.web.survey_form.server import PublicAddress

PORT = 8017
"""A fixed port, so that tunnels and links stay valid when the form is served again."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
FILE = click.Path(dir_okay=False, path_type=Path)


@named("serve", help=message("help.survey_serve_help"))
@click.argument("name", required=False)
@click.option("--tokens", metavar="N", type=click.IntRange(min=1), help=message("help.option_serve_tokens"))
@click.option("--url", metavar="URL", help=message("help.option_url"))
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=PORT, help=message("help.option_form_port"))
@click.option("--bind", metavar="ADDRESS", default="127.0.0.1", help=message("help.option_form_bind"))
@click.option("--sheet", metavar="FILE", type=FILE, help=message("help.option_sheet"))
@click.option("--page", metavar="FILE", type=FILE, help=message("help.option_offline_page"))
def command(
    name: str | None, tokens: int | None, url: str | None, port: int, bind: str, sheet: Path | None, page: Path | None
) -> None:
    from hackathon.survey.collection import find_collection

    try:
        from hackathon.web.survey_form.server import public_address
    except ImportError as error:
        raise RequestError("survey_form.no_web", what=error.name or error) from None
    collection = find_collection(name, Path.cwd(), ("draft", "open"))
    if collection.closing:
        raise RequestError("survey_form.is_closed", name=collection.name)
    if collection.state == "draft" and tokens is None:
        raise RequestError("survey_form.draft", name=collection.name)
    if sheet is not None and tokens is None:
        raise RequestError("survey_form.no_tokens")
    public = public_address(url) if url else None
    if page is not None:
        new_tokens = collection.open(tokens) if tokens else []
        _write_page(collection, page)
        _hand_out(collection, new_tokens, public.url if public else "", sheet)
        return
    from hackathon.web.dashboard.endpoint import listening

    with ExitStack() as stack:
        try:
            listener = stack.enter_context(listening(bind, port))
        except OSError as error:
            raise RequestError("survey_form.no_port", where=f"{bind}:{port}", reason=error.strerror or error) from None
        _serve(collection, listener, bind, tokens, public, sheet)


def _serve(
    collection: "Collection", listener: "socket.socket", bind: str, tokens: int | None,
    public: "PublicAddress | None", sheet: Path | None,
) -> None:  # fmt: skip
    """Serve the form until Ctrl-C."""
    import gc

    from hackathon.text.messages import localized, speaking
    from hackathon.web.dashboard.access import names_of
    from hackathon.web.dashboard.endpoint import Endpoint
    from hackathon.web.survey_form.app import SurveyApp
    from hackathon.web.survey_form.server import serve

    gc.enable()  # it was turned off for short commands
    new_tokens = collection.open(tokens) if tokens else []
    address, port = listener.getsockname()[:2]
    names, any_number = names_of(Endpoint(listener, address=address, port=port))
    own = f"http://{f'[{address}]' if ':' in address else address}:{port}/"
    base = public.url if public else own
    event = collection.event().title

    def title(language: str) -> str:
        with speaking(language):
            return localized(event)

    def ready() -> None:
        _tell(collection, base, own, public is not None, bind)
        _hand_out(collection, new_tokens, base, sheet)
        click.echo(message("survey_form.until"))

    app = SurveyApp(
        collection, title, names | {public.host} if public else names, any_number, public.paths if public else ("/",)
    )
    serve(listener, app, ready)
    click.echo(message("survey_form.ended", answered=len(collection.answers())), err=True)


def _tell(collection: "Collection", base: str, own: str, public: bool, bind: str) -> None:
    """Print the address of the form."""
    from hackathon.cli.show import printable
    from hackathon.text.messages import localized

    click.echo(message("survey_form.open", title=printable(localized(collection.survey.title))))
    click.echo(f"  {base}")
    if base.startswith("http://") and (public or bind not in LOOPBACK):
        click.echo(f"{message('cli.warning')}: {message('survey_form.plain_http', url=base)}", err=True)
    if public:
        click.echo(message("survey_form.behind", address=own))
    elif bind in LOOPBACK:
        click.echo(message("survey_form.tunnel"))


def _hand_out(collection: "Collection", tokens: Sequence[str], base: str, sheet: Path | None) -> None:
    """Print the links of new tokens, or write them on slips."""
    if not tokens:
        return
    if sheet is not None:
        from importlib.util import find_spec

        from hackathon.text.messages import localized
        from hackathon.web.survey_form.offline import sheet as slips

        try:
            text = slips(collection.survey, localized(collection.event().title), tokens, base)
            _write(sheet, text, 0o600)
        except (HackathonError, OSError) as error:
            # the new tokens exist only in this process, so a failure to write the file must not lose them
            reason = error if isinstance(error, HackathonError) else _unwritten(sheet, error)
            click.echo(f"{message('cli.warning')}: {reason}", err=True)
        else:
            click.echo(message("survey_form.written", path=sheet))
            click.echo(message("survey_form.sheet_secret"))
            if base and find_spec("segno") is None:
                click.echo(f"{message('cli.warning')}: {message('survey_form.no_qr')}", err=True)
            return
    click.echo(message("survey_form.links", count=len(tokens)))
    for token in tokens:
        click.echo(f"  {base}?t={token}" if base else f"  {token}")


def _write_page(collection: "Collection", path: Path) -> None:
    """Write the form as a file that works offline."""
    from hackathon.text.messages import localized
    from hackathon.web.survey_form.offline import offline_page

    title = localized(collection.event().title)
    try:
        _write(path, offline_page(collection.name, collection.digest, collection.survey, title), 0o644)
    except OSError as error:
        raise _unwritten(path, error) from None
    click.echo(message("survey_form.written", path=path))
    click.echo(message("survey_form.page_how"))


def _write(path: Path, text: str, mode: int) -> None:
    from hackathon.text.files import write_whole

    write_whole(path, text, mode)


def _unwritten(path: Path, error: OSError) -> HackathonError:
    return UnavailableError("survey_form.no_file", path=path, reason=error.strerror or error)
