"""`hackathon event report`: the article on an event, as Markdown, HTML and docx."""

from pathlib import Path

import click

from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import _, language


@named(
    "report",
    help=_(
        "Write the report of an event: participants, schedule, results of each team, resources used, "
        "questionnaire, lessons. It uses only hackathon.yaml and the records; missing data is reported and "
        "never invented. Names of people, machines, and folders are omitted according to `publish` in "
        "hackathon.yaml.\n"
        "\n"
        "DIR: the event's folder (default: here). It writes report.md, report.ja.md, report.html, and "
        "report.ja.html; each HTML file is self-contained, prints on A4, and can be put on a website.\n"
        "\n"
        "hackathon event report\n"
        "hackathon event report ../hackathon-2026 --to report --lang ja"
    ),
)
@click.argument(
    "folder", required=False, metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path, resolve_path=True)
)
@click.option("--to", "directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help=_("Write to DIR (default: the event's folder)."))  # fmt: skip
@click.option("--title", default="", metavar="TEXT", help=_("Title of the report (default: the event's)."))
@click.option("--docx", "word", is_flag=True, help=_("Also write report.docx, for Word."))
@click.option("--force", is_flag=True, help=_("Also overwrite files that were changed."))
@click.option("--no-ask", is_flag=True, help=_("Do not query the scheduler."))
def command(folder: Path | None, directory: Path | None, title: str, word: bool, force: bool, no_ask: bool) -> None:
    from hackathon.cli.show import printable
    from hackathon.config.load import find_event, load_event
    from hackathon.index.gather import gather
    from hackathon.index.published import without_hidden
    from hackathon.usage.usage import usage
    from hackathon.web.report.files import report_files
    from hackathon.web.report.report import remarks, report_view
    from hackathon.web.report.signed_files import write_together
    from hackathon.web.report.word import check_word
    from hackathon.web.views.published_surveys import published, too_like, unfinished, unreadable

    if word:
        check_word()
    start = (folder or Path.cwd()).absolute()
    event_folder = find_event(start)
    if event_folder is None:
        raise RequestError(
            "report.no_event",
            "hackathon.yaml does not exist in {folder}",
            hint="give the event's folder, or create an event: hackathon event init",
            folder=start,
        )
    event = load_event(event_folder)
    source = without_hidden(gather(event_folder, event, ask=not no_ask))
    surveys, used = published(source), usage(event, event_folder, ask=not no_ask)
    languages = _languages(list(event.languages))
    files, troubles = report_files(source, languages, surveys=surveys, usage=used, title=title, word=word)
    missing = remarks(source, surveys, report_view(source, surveys, usage=used, title=title))
    if event.publish.surveys:
        missing += [
            _(
                "survey {survey} is still open, so it is not in the report: hackathon survey close {survey!q}",
                survey=name,
            )
            for name in unfinished(event_folder)
        ]
        missing += [
            _(
                "survey {survey} is not in the report: only the account that collects its answers can read it",
                survey=name,
            )
            for name in unreadable(event_folder)
        ]
        apart = too_like(event_folder)
        missing += [
            _(
                "survey {survey} is left out: nearly all of its answers are also in survey {other}, so the "
                "difference of the two summaries would reveal single answers",
                survey=name,
                other=other,
            )
            for name, other in apart.items()
        ]
    target = (directory or event_folder).absolute()
    write_together(target, files, force=force)
    for problem in dict.fromkeys([*source.problems, *used.problems, *troubles]):
        click.echo(f"{_('warning')}: {printable(problem)}", err=True)
    if missing:
        click.echo(_("missing in the report:"), err=True)
    for remark in missing:
        click.echo(f"  {printable(remark)}", err=True)
    for name in files:
        click.echo(_("written: {file}", file=target / name))
    click.echo(
        _(
            "next: add what is missing to hackathon.yaml and run `hackathon event report` again, then "
            "`hackathon publish --check`"
        )
        if missing
        else _("next: `hackathon publish --check`, then `hackathon publish --to site`"),
        err=True,
    )


def _languages(languages: list[str]) -> list[str]:
    """Return the languages of the report: the one of --lang, else those of the event."""
    from click.core import ParameterSource

    context = click.get_current_context()
    explicit = context.get_parameter_source("lang") == ParameterSource.COMMANDLINE
    return [language()] if explicit or not languages else list(dict.fromkeys(languages))
