"""`hackathon survey serve`: serve the form for browsers and phones, or write it as a file that works offline."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import named
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.messages import NP_, _, pgettext

if TYPE_CHECKING:
    import socket

    from hackathon.survey.collection import Collection
    from hackathon.web.survey_form.server import PublicAddress

PORT = 8017
"""A fixed port, so that tunnels and links stay valid when the form is served again."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
FILE = click.Path(dir_okay=False, path_type=Path)


@named(
    "serve",
    help=_(
        "Serve the form of a survey on a port of this machine until Ctrl-C. Participants come by a link of "
        "their own, which counts once; a tunnel or reverse proxy leads to the port. Answers are anonymous in "
        "everything that is published.\n"
        "\n"
        "  hackathon survey serve --tokens 30                        open it, and print 30 links\n"
        "  hackathon survey serve --tokens 30 --url https://survey.example.org/ --sheet slips.html\n"
        "  ssh -R 8080:127.0.0.1:8017 web.example.org                a tunnel, from the login node\n"
        "  hackathon survey serve --page form.html                   a file that works without a network"
    ),
)
@click.argument("name", required=False)
@click.option(
    "--tokens",
    metavar="N",
    type=click.IntRange(min=1),
    help=_("Create N new links, one per person; opens the survey if it is not open."),
)
@click.option("--url", metavar="URL", help=_("Public address of the form, with which links start."))
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=PORT,
    help=_("Port; 0: any free port (default: 8017)."),
)
@click.option(
    "--bind",
    metavar="ADDRESS",
    default="127.0.0.1",
    help=_("Address to listen on (default: 127.0.0.1, reachable only from this machine)."),
)
@click.option("--sheet", metavar="FILE", type=FILE, help=_("Write the new links as printable slips with QR codes."))
@click.option(
    "--page",
    metavar="FILE",
    type=FILE,
    help=_("Write the form as one HTML file that saves answers as files, instead of serving it."),
)
def command(
    name: str | None, tokens: int | None, url: str | None, port: int, bind: str, sheet: Path | None, page: Path | None
) -> None:
    from hackathon.survey.collection import find_collection

    try:
        from hackathon.web.survey_form.server import public_address
    except ImportError as error:
        raise RequestError(
            "survey_form.no_web",
            "the form needs packages that are not installed: {what}",
            hint="pip install starlette uvicorn",
            what=error.name or error,
        ) from None
    collection = find_collection(name, Path.cwd(), ("draft", "open"))
    if collection.closing:
        raise RequestError(
            "survey_form.is_closed", "survey {name} is closed and accepts no more answers", name=collection.name
        )
    if collection.state == "draft" and tokens is None:
        raise RequestError(
            "survey_form.draft",
            NP_("survey_form", "survey {name} is not open yet"),
            hint="hackathon survey serve {name!q} --tokens N opens it for N people; after that, its questions "
            "cannot be changed",
            name=collection.name,
        )
    if sheet is not None and tokens is None:
        raise RequestError(
            "survey_form.no_tokens", "slips are created for new links", hint="give their number: --tokens N"
        )
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
            raise RequestError(
                "survey_form.no_port",
                "cannot listen on {where}: {reason}",
                hint="choose another port with --port N, or use --port 0 for a free one",
                where=f"{bind}:{port}",
                reason=error.strerror or error,
            ) from None
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
        click.echo(_("Press Ctrl-C to stop; answers are kept."))

    app = SurveyApp(
        collection, title, names | {public.host} if public else names, any_number, public.paths if public else ("/",)
    )
    serve(listener, app, ready)
    click.echo(_("The form has stopped. Answers so far: {answered}.", answered=len(collection.answers())), err=True)


def _tell(collection: "Collection", base: str, own: str, public: bool, bind: str) -> None:
    """Print the address of the form."""
    from hackathon.cli.show import printable
    from hackathon.text.messages import localized

    click.echo(_("The form of {title} is available at", title=printable(localized(collection.survey.title))))
    click.echo(f"  {base}")
    if base.startswith("http://") and (public or bind not in LOOPBACK):
        click.echo(
            f"{_('warning')}: "
            + _("{url} is not encrypted: others on the network can read answers and links", url=base),
            err=True,
        )
    if public:
        click.echo(_("It listens on {address}: point the tunnel or the reverse proxy there.", address=own))
    elif bind in LOOPBACK:
        click.echo(
            _(
                "This address works only on this machine: set up a tunnel or a reverse proxy, and give its "
                "public address with --url https://…"
            )
        )


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
            click.echo(f"{_('warning')}: {reason}", err=True)
        else:
            click.echo(pgettext("survey_form", "created {path}", path=sheet))
            click.echo(_("Each slip can be used for one answer: do not share the file."))
            if base and find_spec("segno") is None:
                click.echo(
                    f"{_('warning')}: "
                    + _("the slips have no QR codes: the package segno is not installed (pip install segno)"),
                    err=True,
                )
            return
    click.echo(_("{count} links, one per person. Each can be used for one answer:", count=len(tokens)))
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
    click.echo(pgettext("survey_form", "created {path}", path=path))
    click.echo(_("Participants open it, save a file, and submit that file. To import: hackathon survey import FILE…"))


def _write(path: Path, text: str, mode: int) -> None:
    from hackathon.text.files import write_whole

    write_whole(path, text, mode)


def _unwritten(path: Path, error: OSError) -> HackathonError:
    return UnavailableError(
        "survey_form.no_file",
        NP_("survey_form", "{path} cannot be written: {reason}"),
        path=path,
        reason=error.strerror or error,
    )
