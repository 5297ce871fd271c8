"""`hackathon rules`: the failures that a diagnosis can find, and a check of rule files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.add_rule import add
from hackathon.cli.json_output import echo_json
from hackathon.cli.options import LocalizedGroup, named
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, NP_, _, localized

if TYPE_CHECKING:
    from hackathon.config.problems import Problem
    from hackathon.config.rule import Pattern, Rule


@named(
    "rules",
    help=_(
        "Rules by which `hackathon diagnose` recognises failures: shipped rules, and files in templates/rules "
        "of the project or the event, or in ~/.config/hackathon/rules. A rule there replaces a shipped one "
        "with the same id.\n"
        "\n"
        "  hackathon rules list --part nccl\n"
        "  hackathon rules show gpu-out-of-memory\n"
        "  hackathon rules check templates/rules/ours.yaml"
    ),
    cls=LocalizedGroup,
)
def command() -> None:
    pass


@named(
    "list",
    help=_("List the rules, by part.\n\n  hackathon rules list\n  hackathon rules list --part mpi"),
    short=_("List the rules."),
)
@click.option("--part", metavar="NAME", help=_("Only this part: gpu, nccl, mpi, …."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def list_rules(part: str | None, as_json: bool) -> None:
    import re
    from typing import get_args

    from hackathon.cli.show import echo_table
    from hackathon.config.load import origin_of
    from hackathon.config.rule import Part
    from hackathon.config.rule_files import find_rules
    from hackathon.jobs.origins import origin_text

    parts: tuple[str, ...] = get_args(Part)
    if part is not None and part not in parts:
        raise click.UsageError(_("there is no part {name}; known: {known}", name=part, known=", ".join(parts)))
    folders = _folders()
    available, problems = find_rules(folders)
    origins = {path: origin_of(path, folders) for path in dict.fromkeys(path for _, path in available)}
    rules = sorted(
        ((rule, origins[path]) for rule, path in available if part in (None, rule.part)),
        key=lambda entry: (parts.index(entry[0].part), entry[0].id),
    )
    if as_json:
        echo_json(
            {
                "rules": [
                    {"id": rule.id, "part": rule.part, "level": rule.level, "title": localized(rule.title),
                     "from": origin}
                    for rule, origin in rules
                ],
                "problems": [str(problem) for problem in problems],
            }
        )  # fmt: skip
        return
    echo_table(
        [_("id"), _("part"), _("level"), _("from"),
         _("title")],
        [
            [rule.id, rule.part, rule.level, origin_text(origin), re.sub(r"\{\w+\}", "…", localized(rule.title))]
            for rule, origin in rules
        ],
    )  # fmt: skip
    _complain(problems)


@named(
    "show",
    help=_("Show all fields of a rule, and the file that defines it.\n\n  hackathon rules show gpu-out-of-memory"),
    short=_("Show a rule and where it is defined."),
)
@click.argument("name", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def show(name: str, as_json: bool) -> None:
    from hackathon.cli.show import printable
    from hackathon.config.load import package_of
    from hackathon.config.problems import nearest, shown
    from hackathon.config.rule_files import find_rules
    from hackathon.diagnosis.rules import where_of

    folders = _folders()
    pairs, problems = find_rules(folders)
    by_id = {rule.id: (rule, path) for rule, path in pairs}
    if name not in by_id:
        _complain(problems)
        near = nearest(name, by_id)
        if near:
            raise RequestError(
                "rules.no_rule_near", "there is no rule {name}; did you mean `{near}`?", name=shown(name), near=near
            )
        raise RequestError(
            "rules.no_rule", "there is no rule {name}", hint="list them with `hackathon rules list`", name=shown(name)
        )
    rule, path = by_id[name]
    position = f"{path}:{where_of(path, name)}"
    package = package_of(path, folders)
    if as_json:
        from dataclasses import asdict

        echo_json({**asdict(rule), "from": position, **({"package": package} if package else {})})
        return
    click.echo(f"{rule.id} · {rule.part} · {rule.level}")
    click.echo(printable(localized(rule.title)))
    for key, lines in _described(rule, f"{position} ({package})" if package else position):
        if lines:
            click.echo()
            click.echo(click.style(_(key), bold=True))
            for line in lines:
                click.echo(f"  {printable(line)}")


@named(
    "check",
    help=_(
        "Check rule files, or all on the search path: keys and patterns, and whether each rule finds its own "
        "examples.\n"
        "\n"
        "  hackathon rules check\n"
        "  hackathon rules check templates/rules/ours.yaml"
    ),
    short=_("Check rule files."),
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")
def check(files: tuple[Path, ...]) -> None:
    from hackathon.config.load import origin_of
    from hackathon.config.rule_files import load_rule_file, load_rules, rule_files
    from hackathon.diagnosis.rules import check_files
    from hackathon.jobs.origins import origin_text

    folders = _folders()
    rules, problems = load_rules(folders)
    chosen = list(files) or rule_files(folders)
    if not chosen:
        click.echo(_("No rule files were found."))
        return
    # problems of a single file are reported when the file is checked
    apart = ("rules.id_elsewhere", "plug_ins.rule_hidden", "plug_ins.broken")
    doubts = [] if files else [problem for problem in problems if problem.id in apart]
    doubts += check_files(chosen, rules)
    if doubts:
        for problem in doubts:
            click.echo(str(problem))
        raise RequestError("rules.check_bad", "{count} {count:problem|problems} in rules", count=len(doubts))
    counts = {path: len(load_rule_file(path)) for path in chosen}
    click.echo(_("{count} rules in {files} files are valid.", count=sum(counts.values()), files=len(chosen)))
    if not files:
        origins: dict[str, int] = {}
        for path, count in counts.items():
            origin = origin_text(origin_of(path, folders))
            origins[origin] = origins.get(origin, 0) + count
        click.echo("  " + " · ".join(f"{origin}: {count}" for origin, count in origins.items()))


def _folders() -> list[Path]:
    """Return the folders of the project and the event."""
    from hackathon.config.trust import folders_that_count

    return folders_that_count(Path.cwd())


def _described(rule: "Rule", position: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (message id of a heading, lines)."""
    yield NP_("rules", "from"), [position]
    yield N_("patterns"), [_pattern(pattern) for pattern in rule.patterns]
    yield N_("unless"), [_pattern(pattern) for pattern in rule.unless]
    yield N_("fact"), [rule.fact] if rule.fact else []
    yield N_("thresholds"), [f"{name}: {value:g}" for name, value in rule.thresholds.items()]
    yield NP_("rules", "where"), [", ".join(rule.where)] if rule.where else []
    causes = []
    for number, cause in enumerate(rule.causes, 1):
        causes.append(f"{number}. {localized(cause.text)}")
        causes += [f"   $ {cause.check}"] if cause.check else []
    yield N_("causes"), causes
    yield N_("advice"), localized(rule.advice).splitlines()
    yield N_("follows"), [", ".join(rule.follows)] if rule.follows else []
    yield N_("references"), list(rule.references)
    for key, examples in (
        (N_("sample"), [rule.sample] if rule.sample else []),
        (N_("variants"), rule.variants),
    ):
        lines = []
        for example in examples:
            lines += [f"| {line}" for line in example.text.splitlines()]
            lines += [f"({example.source})"] if example.source else []
        yield key, lines


def _pattern(pattern: "Pattern") -> str:
    words = pattern.text or f"/{pattern.regex}/"
    return f"{words}  ({_('case-insensitive')})" if pattern.ignore_case else words


def _complain(problems: "Sequence[Problem]") -> None:
    for problem in problems:
        click.echo(str(problem), err=True)


command.add_command(list_rules)  # type: ignore[attr-defined]
command.add_command(show)  # type: ignore[attr-defined]
command.add_command(check)  # type: ignore[attr-defined]
command.add_command(add)  # type: ignore[attr-defined]
