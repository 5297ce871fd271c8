"""`hackathon clusters`: the machines that are known. `clusters NAME`, `--live` and `--measure` are older words for its verbs."""

import click

from hackathon.cli.lazy_groups import LazyNoun
from hackathon.cli.options import named
from hackathon.text.errors import RequestError

VERBS: tuple[str, ...] = ("list", "show", "check", "measure", "new")
OF_A_JOB = frozenset(
    {"--nodes", "--processes-per-node", "--queue", "--group", "--reservation", "--walltime", "--launcher", "-p",
     "--parameter"}
)  # fmt: skip
"""Options of a measurement, which make no sense without one."""


class ClustersNoun(LazyNoun):
    """A noun whose sub-verb may be left out: without a name it lists, with a name it shows, with `--measure` it measures."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.verbs, *ctx.help_option_names):
            args = self.with_verb(args)
        return super().parse_args(ctx, args)

    def with_verb(self, words: list[str]) -> list[str]:
        """Return the words behind the verb that they mean."""
        if "--measure" in words:
            rest = [word for word in words if word != "--measure"]
            if all(word.startswith("-") for word in rest):
                raise RequestError("clusters.measure_which")
            return ["measure", *rest]
        if not OF_A_JOB.isdisjoint(word.partition("=")[0] for word in words):
            raise RequestError("clusters.measure_only")
        language = [index + 1 for index, word in enumerate(words) if word == "--lang"]
        named = any(not word.startswith("-") for index, word in enumerate(words) if index not in language)
        return ["show" if named else "list", *words]


@named("clusters", cls=ClustersNoun, verbs=VERBS)
def command() -> None:
    pass
