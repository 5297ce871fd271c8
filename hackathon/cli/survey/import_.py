"""`hackathon survey import`: import answers from tables of other programs, and from files of the offline page."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import Assignment, named
from hackathon.text.errors import WRONG_REQUEST
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.survey.importing import Imported

_ROLE_TEXTS = {
    "token": N_("(token)"),
    "identity": N_("(person and time: not stored)"),
    "ignored": N_("(skipped)"),
}

SHOWN = 50


@named(
    "import",
    help=_(
        "Take answers from CSV or xlsx files of Google Forms, Microsoft Forms, LimeSurvey, SurveyMonkey and "
        "Qualtrics, and from files that the offline page saved. Columns are matched by id or question text; times, "
        "mail addresses and names are never stored. "
        "The same export counts once: a keyed digest of each row is kept until the survey is closed. All "
        "files, or nothing: every problem is reported with file, line and column.\n"
        "\n"
        "  hackathon survey import answers.csv --dry-run        which column is which question\n"
        "  hackathon survey import answers.csv after\n"
        "  hackathon survey import answers.csv --encoding cp932 --map 'Q7=length' --map '#9=-'\n"
        "  hackathon survey import answers.xlsx --values 'good=5,fair=3,bad=1' --values 'kind:M2=master'\n"
        "  hackathon survey import answer-*.json                from the offline page"
    ),
)
@click.argument("files", metavar="FILE... [NAME]", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--survey", "name", metavar="NAME", help=_("Name of the survey (instead of after the files)."))
@click.option("--encoding", metavar="NAME", help=_("utf-8, cp932, euc_jp, utf-16 … (default: detected)."))
@click.option("--map", "mapping", metavar="COLUMN=ID", type=Assignment(), multiple=True,
              help=_("Question of a column (heading or #number); `-` for none."))  # fmt: skip
@click.option("--values", "values", metavar="WORD=LEVEL,…", multiple=True,
              help=_("Levels of words in ratings; `ID:WORD=VALUE,…` for one question; `-`: no answer."))  # fmt: skip
@click.option(
    "--dry-run", is_flag=True, help=_("Show the question of each column and all problems, without saving anything.")
)
@click.option("--skip-bad", is_flag=True, help=_("Skip rows with a problem."))
@click.option("--incomplete", is_flag=True, help=_("Take rows of people who did not send the form, too."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    files: tuple[Path, ...], name: str | None, encoding: str | None, mapping: tuple[tuple[str, str], ...],
    values: tuple[str, ...], dry_run: bool, skip_bad: bool, incomplete: bool, as_json: bool,
) -> None:  # fmt: skip
    from hackathon.survey.collection import find_collection
    from hackathon.survey.importing import import_answers

    files, name = _parted(files, name)
    survey = find_collection(name, Path.cwd(), ("open",))
    imported = import_answers(
        survey, files, encoding=encoding, given=mapping, dry_run=dry_run, skip_bad=skip_bad, incomplete=incomplete,
        values=values,
    )  # fmt: skip
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
        heads = [_("column"), _("question")]
        rows = [
            [
                column.heading,
                f"{column.question} {column.option}".strip() or _(_ROLE_TEXTS[column.role]),
            ]
            for __, column in imported.columns
        ]
        echo_table(heads, rows)
    for problem in imported.problems[:SHOWN]:
        click.echo(printable(f"{problem.where}: {problem.text}"), err=True)
    if len(imported.problems) > SHOWN:
        click.echo(f"  … {len(imported.problems) - SHOWN}", err=True)
    for remedy in dict.fromkeys(problem.remedy for problem in imported.problems if problem.remedy):
        click.echo(printable(f"{_('hint')}: {remedy}"), err=True)
    for question, answers in imported.unknown_options.items():
        if answers:
            pairs = ",".join(f"{answer}=OPTION" for answer in answers[:12])
            text = _("say which option each answer is: --values {pairs!q}", pairs=f"{question}:{pairs}")
            click.echo(printable(f"{_('hint')}: {text}"), err=True)
    if imported.mapping:
        import shlex

        pairs = " ".join(f"--map {shlex.quote(f'{column}={question}')}" for column, question in imported.mapping)
        click.echo(
            printable(_("for all columns at once, if the suggestions are right: {pairs}", pairs=pairs)), err=True
        )
    for text, count in (
        (N_("{count} {count:row|rows} had been imported already"), imported.known),
        (N_("{count} {count:answer does|answers do} not count: the token was already used"), imported.spent),
        (N_("{count} {count:row has|rows have} no answers"), imported.blank),
        (N_("{count} {count:row|rows} left out: the form was not sent (--incomplete takes them)"), imported.incomplete),
        (N_("{count} {count:row|rows} left out: previews of the form, or spam"), imported.previews),
        (
            N_("{count} {count:text|texts} beside “other” {count:counts|count} as this option; they are not stored"),
            imported.other_texts,
        ),
        (N_("{count} {count:row|rows} skipped"), imported.skipped if skip_bad else 0),
    ):
        if count:
            click.echo(_(text, count=count), err=True)
    if imported.coded:
        text = N_(
            "{questions}: codes were read as levels, A1 or AO01 as level 1. If the list of the form begins with the "
            "highest level, use --values '{question}:AO01=LEVEL,…'"
        )
        click.echo(_(text, questions=", ".join(imported.coded), question=imported.coded[0]), err=True)
    if imported.unused_words:
        click.echo(printable(_("no answer is {words} (--values)", words=", ".join(imported.unused_words))), err=True)
    if imported.stored or (dry_run and (skip_bad or not imported.problems)):
        text = (
            N_("{name}: {counted} {counted:answer|answers} imported")
            if imported.stored
            else N_("{name}: {counted} {counted:answer|answers} would be imported; nothing was saved")
        )
        click.echo(_(text, counted=imported.counted, name=name), err=True)
    else:
        click.echo(
            _("nothing was imported")
            if imported.whole_file
            else _("nothing was imported: fix the file, or skip such rows with --skip-bad"),
            err=True,
        )


def _echo_json(imported: "Imported") -> None:
    value = {
        "counted": imported.counted, "known": imported.known, "spent": imported.spent, "blank": imported.blank,
        "incomplete": imported.incomplete, "previews": imported.previews, "other_texts": imported.other_texts,
        "coded": imported.coded, "unused_words": imported.unused_words,
        "mapping": [f"{column}={question}" for column, question in imported.mapping],
        "skipped": imported.skipped, "stored": imported.stored,
        "problems": [
            {
                "file": str(problem.file), "line": problem.line, "column": problem.column, "text": problem.text,
                "remedy": problem.remedy,
            }
            for problem in imported.problems
        ],
    }  # fmt: skip
    echo_json(value)
