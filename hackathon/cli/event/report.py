"""`hackathon event report`: the article on an event, as Markdown and HTML."""

from pathlib import Path

import click

from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import language, message


@named("report", help=message("help.event_report_help"))
@click.argument(
    "folder", required=False, metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path, resolve_path=True)
)
@click.option("--to", "directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help=message("help.option_report_to"))  # fmt: skip
@click.option("--title", default="", metavar="TEXT", help=message("help.option_report_title"))
@click.option("--force", is_flag=True, help=message("help.option_report_force"))
@click.option("--no-ask", is_flag=True, help=message("help.option_no_ask"))
def command(folder: Path | None, directory: Path | None, title: str, force: bool, no_ask: bool) -> None:
    from hackathon.cli.show import printable
    from hackathon.config.load import find_event, load_event
    from hackathon.index.gather import gather
    from hackathon.index.published import without_hidden
    from hackathon.usage.usage import usage
    from hackathon.web.report.files import report_files
    from hackathon.web.report.report import remarks, report_view
    from hackathon.web.report.signed_files import write_together
    from hackathon.web.views.published_surveys import published, too_like, unfinished, unreadable

    start = (folder or Path.cwd()).absolute()
    event_folder = find_event(start)
    if event_folder is None:
        raise RequestError("report.no_event", folder=start)
    event = load_event(event_folder)
    source = without_hidden(gather(event_folder, event, ask=not no_ask))
    surveys, used = published(source), usage(event, event_folder, ask=not no_ask)
    languages = _languages(list(event.languages))
    files, troubles = report_files(source, languages, surveys=surveys, usage=used, title=title)
    missing = remarks(source, surveys, report_view(source, surveys, usage=used, title=title))
    if event.publish.surveys:
        missing += [message("report.remark_open", survey=name) for name in unfinished(event_folder)]
        missing += [message("report.remark_unreadable", survey=name) for name in unreadable(event_folder)]
        apart = too_like(event_folder)
        missing += [message("report.remark_too_like", survey=name, other=other) for name, other in apart.items()]
    target = (directory or event_folder).absolute()
    write_together(target, files, force=force)
    for problem in dict.fromkeys([*source.problems, *used.problems, *troubles]):
        click.echo(f"{message('cli.warning')}: {printable(problem)}", err=True)
    if missing:
        click.echo(message("report.lacks"), err=True)
    for remark in missing:
        click.echo(f"  {printable(remark)}", err=True)
    for name in files:
        click.echo(message("report.written", file=target / name))
    click.echo(message("report.next_complete" if missing else "report.next"), err=True)


def _languages(languages: list[str]) -> list[str]:
    """Return the languages of the report: the one of --lang, else those of the event."""
    from click.core import ParameterSource

    context = click.get_current_context()
    explicit = context.get_parameter_source("lang") == ParameterSource.COMMANDLINE
    return [language()] if explicit or not languages else list(dict.fromkeys(languages))
