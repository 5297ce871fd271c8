"""`hackathon plugins`: what installed packages add, and whether it can be used."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.lazy_groups import command_of
from hackathon.cli.options import named
from hackathon.config import plug_ins
from hackathon.text.errors import FAILED, RequestError
from hackathon.text.messages import N_, _, ngettext

if TYPE_CHECKING:
    from collections.abc import Callable

    from hackathon.config.plug_ins import PlugIn


_STATE_TEXTS = {"good": N_("usable"), "bad": N_("broken"), "unused": N_("not used")}


@named(
    "plugins",
    help=_(
        "List the commands, recipes, clusters, rules, templates, and schedulers that installed packages add, "
        "and say which cannot be used and why.\n"
        "\n"
        "  hackathon plugins"
    ),
)
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(as_json: bool) -> int:
    from hackathon.cli.show import echo_table, printable

    packages = plug_ins.installed(refresh=True)
    states = {plug_in: _state(plug_in) for plug_in in packages}
    bad = [plug_in for plug_in, (state, _) in states.items() if state == "bad"]
    if as_json:
        rows = [
            {**plug_in._asdict(), "group": f"hackathon.{plug_in.kind}", "state": state, "problem": problem}
            for plug_in, (state, problem) in states.items()
        ]
        echo_json({"schema_version": 1, "plugins": rows})
    elif not packages:
        click.echo(_("No installed package adds anything to the toolkit."))
    else:
        echo_table(
            [_("kind"), _("name"), _("package"), _("state")],
            [
                [plug_in.kind, plug_in.name, plug_in.package, _(_STATE_TEXTS[state])]
                for plug_in, (state, __) in states.items()
            ],
        )
        for problem in dict.fromkeys(problem for _, problem in states.values() if problem):
            click.echo(printable(problem), err=True)
        if bad:
            click.echo(
                ngettext(
                    "{count} entry point cannot be used.",
                    "{count} entry points cannot be used.",
                    len(bad),
                    count=len(bad),
                ),
                err=True,
            )
    return FAILED if bad else 0


def _state(plug_in: "PlugIn") -> tuple[str, str | None]:
    """Return `good`, `bad` or `unused`, with the reason."""
    from hackathon.config.problems import ConfigError

    try:
        if _is_hidden(plug_in):
            values = {"name": plug_in.name, "group": f"hackathon.{plug_in.kind}", "package": plug_in.package}
            return "unused", _(
                "{name} ({group}) of the package {package} is not used: the toolkit has its own.", **values
            )
        if plug_in.kind != "rules":
            plug_ins.find(plug_in.kind, plug_in.name)
        _CHECKS[plug_in.kind](plug_in)
    except ConfigError as error:
        return "bad", plug_ins.broken(plug_in, error.message).message
    except RequestError as error:
        return "bad", error.message
    return "good", None


def _is_hidden(plug_in: "PlugIn") -> bool:
    """Return whether the toolkit has a thing of that kind and name itself."""
    from hackathon.cli.main import is_own
    from hackathon.schedulers.registry import BUILT_IN
    from hackathon.text.paths import shipped

    match plug_in.kind:
        case "commands":
            return is_own(plug_in.name)
        case "schedulers":
            return plug_in.name in BUILT_IN
        case "recipes":
            return (shipped("recipes") / plug_in.name / "recipe.yaml").is_file()
        case "clusters":
            return (shipped("templates", "clusters") / f"{plug_in.name}.yaml").is_file()
    return False


def _check_recipe(plug_in: "PlugIn") -> None:
    from hackathon.config.load import load_recipe

    load_recipe(plug_ins.file_of(plug_in).parent)


def _check_cluster(plug_in: "PlugIn") -> None:
    from hackathon.schedulers import registry

    registry.load_cluster_file(plug_ins.file_of(plug_in))


def _check_rules(plug_in: "PlugIn") -> None:
    from hackathon.config.rule_files import load_rules
    from hackathon.diagnosis.rules import check_files

    if problems := check_files([plug_ins.file_of(plug_in)], load_rules()[0]):
        raise plug_ins.broken(plug_in, "; ".join(map(str, problems)))


def _check_templates(plug_in: "PlugIn") -> None:
    from hackathon.jobs.render import check_templates

    try:
        check_templates(plug_ins.file_of(plug_in))
    except RequestError as error:
        raise error if error.id == "plug_ins.broken" else plug_ins.broken(plug_in, error.message) from error


def _check_scheduler(plug_in: "PlugIn") -> None:
    from hackathon.schedulers import registry

    registry.load(plug_in.name)


_CHECKS: "dict[str, Callable[[PlugIn], object]]" = {
    "commands": command_of,
    "recipes": _check_recipe,
    "clusters": _check_cluster,
    "rules": _check_rules,
    "templates": _check_templates,
    "schedulers": _check_scheduler,
}
