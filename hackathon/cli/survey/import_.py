"""`hackathon survey import`: import answers from CSV files of other programs, and from files of the offline page."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import Assignment, named
from hackathon.text.errors import WRONG_REQUEST
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.survey.importing import Imported

_ROLE_TEXTS = {
    "token": "survey_import.role_token",
    "identity": "survey_import.role_identity",
    "ignored": "survey_import.role_ignored",
}

SHOWN = 50


@named("import", help=message("help.survey_import_help"))
@click.argument("files", metavar="FILE... [NAME]", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--survey", "name", metavar="NAME", help=message("help.option_survey_name"))
@click.option("--encoding", metavar="NAME", help=message("help.option_survey_encoding"))
@click.option("--map", "mapping", metavar="COLUMN=ID", type=Assignment(), multiple=True,
              help=message("help.option_survey_map"))  # fmt: skip
@click.option("--dry-run", is_flag=True, help=message("help.option_survey_dry_run"))
@click.option("--skip-bad", is_flag=True, help=message("help.option_survey_skip_bad"))
@click.option("--incomplete", is_flag=True, help=message("help.option_survey_incomplete"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(
    files: tuple[Path, ...], name: str | None, encoding: str | None, mapping: tuple[tuple[str, str], ...],
    dry_run: bool, skip_bad: bool, incomplete: bool, as_json: bool,
) -> None:  # fmt: skip
    from hackathon.survey.collection import find_collection
    from hackathon.survey.importing import import_answers

    files, name = _parted(files, name)
    survey = find_collection(name, Path.cwd(), ("open",))
    imported = import_answers(
        survey, files, encoding=encoding, given=mapping, dry_run=dry_run, skip_bad=skip_bad, incomplete=incomplete
    )
    if as_json:
        _echo_json(imported)
    else:
        _echo(imported, survey.name, dry_run, skip_bad)
    if imported.problems and (not skip_bad or not (imported.stored or dry_run)):
        raise click.exceptions.Exit(WRONG_REQUEST)


def _parted(words: tuple[Path, ...], name: str | None) -> tuple[tuple[Path, ...], str | None]:
    """Return the files and the survey's name, which may come before or after them."""
    for at in (-1, 0):
        word = str(words[at])
        # names of surveys contain no dots and slashes, so that a missing file is not read as a name
        if name is None and len(words) > 1 and not set("./") & set(word) and not Path(word).is_file():
            name = word
            words = words[:-1] if at else words[1:]
    return words, name


def _echo(imported: "Imported", name: str, dry_run: bool, skip_bad: bool) -> None:
    from hackathon.cli.show import echo_table, printable

    if dry_run:
        heads = [message("survey_import.column_of"), message("survey_import.is_question")]
        rows = [
            [
                column.heading,
                f"{column.question} {column.option}".strip() or message(_ROLE_TEXTS[column.role]),
            ]
            for _, column in imported.columns
        ]
        echo_table(heads, rows)
    for problem in imported.problems[:SHOWN]:
        click.echo(printable(f"{problem.where}: {problem.text}"), err=True)
    if len(imported.problems) > SHOWN:
        click.echo(f"  … {len(imported.problems) - SHOWN}", err=True)
    for remedy in dict.fromkeys(problem.remedy for problem in imported.problems if problem.remedy):
        click.echo(printable(f"{message('cli.hint')}: {remedy}"), err=True)
    for text, count in (
        ("survey_import.known", imported.known),
        ("survey_import.spent", imported.spent),
        ("survey_import.blank", imported.blank),
        ("survey_import.incomplete", imported.incomplete),
        ("survey_import.skipped", imported.skipped if skip_bad else 0),
    ):
        if count:
            click.echo(message(text, count=count), err=True)
    if imported.stored or (dry_run and (skip_bad or not imported.problems)):
        text = "survey_import.done" if imported.stored else "survey_import.would"
        click.echo(message(text, counted=imported.counted, name=name), err=True)
    else:
        click.echo(
            message("survey_import.nothing_at_all" if imported.whole_file else "survey_import.nothing"), err=True
        )


def _echo_json(imported: "Imported") -> None:
    value = {
        "counted": imported.counted, "known": imported.known, "spent": imported.spent, "blank": imported.blank,
        "incomplete": imported.incomplete, "skipped": imported.skipped, "stored": imported.stored,
        "problems": [
            {
                "file": str(problem.file), "line": problem.line, "column": problem.column, "text": problem.text,
                "remedy": problem.remedy,
            }
            for problem in imported.problems
        ],
    }  # fmt: skip
    echo_json(value)
