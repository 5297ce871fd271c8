"""`hackathon clusters`: the machines with a profile. `clusters NAME` with `--live` or `--measure` is an older form."""

import click

from hackathon.cli.lazy_groups import LazyNoun
from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _

VERBS = {
    "list": N_("List the clusters that have a profile."),
    "show": N_("Show a cluster's queues and limits, and where each value is from."),
    "check": N_("Check a profile, and compare it with the machine."),
    "measure": N_("Measure how fast processes communicate, and keep it."),
    "new": N_("Write a profile of this machine."),
}
OF_A_JOB = frozenset(
    {"--nodes", "--processes-per-node", "--queue", "--group", "--account", "--reservation", "--qos", "--constraint",
     "--walltime", "--launcher", "-p", "--parameter"}
)  # fmt: skip
"""Options of a measurement, which are refused without one."""


class ClustersNoun(LazyNoun):
    """A noun with an optional sub-verb: it lists; with a name it shows; with `--measure` it measures."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.verbs, *ctx.help_option_names):
            args = self.with_verb(args)
        return super().parse_args(ctx, args)

    def with_verb(self, words: list[str]) -> list[str]:
        """Return the words with the implied verb in front."""
        values = {index + 1 for index, word in enumerate(words) if word == "--lang"}
        with_name = any(not word.startswith("-") for index, word in enumerate(words) if index not in values)
        if "--measure" in words:
            if not with_name:
                raise RequestError(
                    "clusters.measure_which", "no cluster given to measure", hint="hackathon clusters measure NAME"
                )
            return ["measure", *(word for word in words if word != "--measure")]
        if not OF_A_JOB.isdisjoint(word.partition("=")[0] for word in words):
            raise RequestError(
                "clusters.measure_only", "job options need --measure", hint="hackathon clusters measure NAME"
            )
        return ["show" if with_name else "list", *words]


@named(
    "clusters",
    help=_(
        "List the clusters that have a profile, show one, compare one with the machine, or write a new one. "
        "`hackathon clusters` alone lists them; `hackathon clusters NAME` shows one, and `--live` and "
        "`--measure` work there too. A question mark marks unverified values.\n"
        "\n"
        "  hackathon clusters\n"
        "  hackathon clusters reedbush-h\n"
        "  hackathon clusters check slurm --live     compare with what the scheduler says\n"
        "  hackathon clusters new kumo               write a profile of this machine"
    ),
    cls=ClustersNoun,
    verbs=VERBS,
)
def command() -> None:
    pass
