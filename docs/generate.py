"""Write the generated part of the reference: `make docs`.

Commands come from click, keys of files from their records, machines from their profiles, so that none of these pages
can say anything else than the program. `tests/unit/house/test_docs.py` fails when a page is not what this makes.
"""

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from rule_pages import pages

from hackathon.cli import main
from hackathon.cli.lazy_groups import LazyNoun
from hackathon.config.cluster import Cluster, Queue
from hackathon.config.schema import RECORDS, field_reference
from hackathon.schedulers.profiles import list_clusters
from hackathon.schedulers.registry import dialect_types
from hackathon.text.messages import localized, message, speaking
from hackathon.text.units import format_size, format_walltime

FOLDER = Path(__file__).parent / "reference"
WORDS = {
    "title": ("Commands", "コマンド"),
    "made": (
        "Made by `make docs` from the program itself; `hackathon COMMAND --help` says the same. [日本語](commands.ja.md)",
        "`make docs` がプログラムから作ったページです。内容は `hackathon コマンド --help` と同じです。"
        "[English](commands.md)",
    ),
    "target": (
        "Every command takes `--help` and `--lang en|ja`. `RECIPE|FOLDER` is the name of a recipe, or a folder that holds a `project.yaml`; left out, it is the project "
        "around the current folder. `RUN` and `STUDY` are a whole part of an id, such as `4p`, or any four or more of its letters, that no other id has.",
        "どのコマンドにも `--help` と `--lang en|ja` があります。`RECIPE|FOLDER` はレシピ名、または `project.yaml` のあるフォルダです。省くと今のフォルダを含むプロジェクトです。"
        "`RUN`・`STUDY` は、ほかの ID にない部分で指定できます（`4p` のような区切り全体、または 4 文字以上）。",
    ),
    "codes": ("Exit codes", "終了コード"),
    "code": (
        "| code | meaning |\n|---|---|\n| 0 | done |\n| 1 | the work failed: a job, a point of a study, a finding of `doctor` |\n"
        "| 2 | the request was wrong; nothing was submitted |\n"
        "| 3 | scheduler, disk or environment unavailable: try again |\n| 130 | interrupted |",
        "| コード | 意味 |\n|---|---|\n| 0 | 完了 |\n| 1 | 処理の失敗(ジョブ、測定の点、`doctor` の指摘) |\n"
        "| 2 | 指定の誤り。何も投入していない |\n"
        "| 3 | スケジューラ・ディスク・環境が使えない。再試行してください |\n| 130 | 中断 |",
    ),
    "option": ("option", "オプション"),
    "meaning": ("meaning", "意味"),
    "environment": ("Environment", "環境変数"),
    "variables": (
        "`HACKATHON_CLUSTER`, `_QUEUE`, `_GROUP`, `_RESERVATION`, `_PROCESSES_PER_NODE`, `_THREADS`, `_WALLTIME`, "
        "`_LAUNCHER`, `_BINDING` stand behind the options of the same name and before `project.yaml`. `HACKATHON_LANG` is `en` or "
        "`ja`. `NO_COLOR` keeps tables plain. Settings lie in `$XDG_CONFIG_HOME/hackathon`, caches that may be deleted "
        "in `$XDG_CACHE_HOME/hackathon`.",
        "`HACKATHON_CLUSTER`、`_QUEUE`、`_GROUP`、`_RESERVATION`、`_PROCESSES_PER_NODE`、`_THREADS`、`_WALLTIME`、"
        "`_LAUNCHER`、`_BINDING` は、同名のオプションの次、`project.yaml` より先に使われます。`HACKATHON_LANG` は `en` か `ja`。"
        "`NO_COLOR` で色なし。設定は `$XDG_CONFIG_HOME/hackathon`、消してよいキャッシュは `$XDG_CACHE_HOME/hackathon`。",
    ),
}


def files() -> dict[str, str]:
    """Return name → text of every generated page of the reference."""
    return {
        "commands.md": commands("en"),
        "commands.ja.md": commands("ja"),
        "files.md": _keys(),
        "clusters.md": _machines(),
        **pages(),
    }


def commands(language: str) -> str:
    """Return the page of all commands in a language: `en` or `ja`."""
    with speaking(language):
        number = ("en", "ja").index(language)
        words = {key: pair[number] for key, pair in WORDS.items()}
        lines = [f"# {words['title']}", "", words["made"], "", message("cli.help"), "", words["target"], ""]
        for section, names in main.COMMANDS.items():
            lines += [f"- {message(f'cli.section_{section}')}: " + ", ".join(f"[`{name}`](#{name})" for name in names)]
        group = main.build()
        context = click.Context(group, info_name="hackathon")
        for names in main.COMMANDS.values():
            for name, module in names.items():
                # help texts are made in the language that is spoken while a module is loaded
                command = importlib.reload(importlib.import_module(f"hackathon.cli.{module}")).command
                inside = click.Context(command, context, name)
                lines += ["", f"## {name}", "", *_command(inside, words)]
                for verb, each in _verbs(inside):
                    lines += ["", f"### {name} {verb}", "", *_command(click.Context(each, inside, verb), words)]
        lines += [
            "",
            f"## {words['codes']}",
            "",
            words["code"],
            "",
            f"## {words['environment']}",
            "",
            words["variables"],
        ]
    return "\n".join(lines) + "\n"


def _verbs(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Yield the sub-verbs of a noun; those that are modules of their own are loaded anew, in the spoken language."""
    command = context.command
    if isinstance(command, LazyNoun):
        for verb in command.verbs:
            yield verb, importlib.reload(importlib.import_module(command.module(verb))).command
    elif isinstance(command, click.Group):
        yield from sorted(command.commands.items())


def _command(context: click.Context, words: dict[str, str]) -> Iterator[str]:
    command = context.command
    yield f"`{context.command_path} {' '.join(command.collect_usage_pieces(context))}`"
    text, _, examples = (command.help or "").partition("\b\n")
    yield from ("", " ".join(text.split()))
    if examples.strip():
        yield from ("", "```sh", *(_example(line.strip()) for line in examples.splitlines() if line.strip()), "```")
    rows = []
    for parameter in command.get_params(context):
        if not isinstance(parameter, click.Option) or {"--help", "--lang"} & set(parameter.opts):
            continue
        record = parameter.get_help_record(context)
        if record is not None:
            rows.append(f"| {_code(record[0])} | {_cell(record[1])} |")
    if rows:
        yield from ("", f"| {words['option']} | {words['meaning']} |", "|---|---|", *rows)


def _example(line: str) -> str:
    """Return an example with what it does, if that is said, as a comment."""
    typed, gap, about = re.match(r"(.*?)(\s{3,}|\Z)(.*)", line).groups()  # type: ignore[union-attr]
    return f"{typed}{gap}# {about}" if about else typed


def _keys() -> str:
    lines = [
        "# Files that people write",
        "",
        "Made by `make docs` from the records that read the files; `hackathon schema NAME` prints the same as JSON Schema,"
        " for editors.",
        "",
        "All are YAML, read safely with the scalars of YAML 1.2: `walltime: 48:00:00` and group `007` stay text, `on` is"
        " no truth value. An unknown key is an error, with the nearest known one.",
        "",
        "- **walltime**: `00:30:00`, `00:30` (hours and minutes), `1-12:00:00`, `90m`, `2h`, `1d12h`, or seconds.",
        "- **size**: `256 GB` (10⁹), `16 GiB` (2³⁰), or bytes.",
        "- `{en / ja: str}`: one text for each language; a plain text serves both.",
        "- `NAME` in a key stands for a name of yours, `[]` for the items of a list.",
        "",
        "A value is taken from the first of: command line, environment (`HACKATHON_…`), `project.yaml`, the user's"
        " `config.yaml`, the event's `hackathon.yaml`, recipe, cluster; `hackathon render --explain` names it. Clusters,"
        " recipes and job templates are looked for in the project, the event's folder, (clusters and recipes)"
        " `~/.config/hackathon`, then what is shipped.",
    ]
    headings = {
        "project": "A team's project",
        "recipe": "A training program with its parameters",
        "cluster": "A machine. See [how to add one](../how-to/add-a-cluster.md) and [those that are shipped](clusters.md)",
        "event": "One hackathon, in a folder above its projects",
        "survey": "A questionnaire of an event, in `surveys/NAME/`",
        "rule": "Failures that can be recognised. See [how to add a rule](../how-to/add-a-rule.md) and"
        " [those that are shipped](rules.md)",
        "user": "What the user wants when the project is silent",
    }
    for name, (_, file) in RECORDS.items():
        lines += ["", f"## {name}", "", f"`{file}` — {headings[name]}.", "", "| key | type | default | meaning |"]
        lines += ["|---|---|---|---|"]
        for entry in field_reference(name, dialect_types()):
            default = (
                "**required**" if entry.default is None else "–" if entry.default in _EMPTY else _code(entry.default)
            )
            lines.append(f"| `{entry.key}` | {_code(entry.type)} | {default} | {_cell(entry.description)} |")
    return "\n".join(lines) + "\n"


_EMPTY = frozenset({"null", '""', "{}", "[]"})


def _machines() -> str:
    clusters, problems = list_clusters([])
    assert not problems, problems
    lines = [
        "# Clusters that are shipped",
        "",
        "Made by `make docs` from `templates/clusters/*.yaml`. **?** marks a value that nobody has confirmed on the machine:"
        " treat it as a guess, and write the right one into [a copy of the profile](../how-to/add-a-cluster.md). The tables"
        " of sources say where values are from; `hackathon clusters show NAME --evidence` shows them value by value, and on the"
        " machine itself `hackathon clusters check NAME --live` compares them with what its scheduler says.",
    ]
    for cluster in clusters:
        lines += ["", *_machine(cluster)]
    return "\n".join(lines) + "\n"


def _machine(cluster: Cluster) -> Iterator[str]:
    def sure(path: str, text: object) -> str:
        return f"{text} **?**" if path in cluster.unverified else str(text)

    node = cluster.node
    shape = [
        sure("node.cores", "cores as counted on the machine" if node.cores == "auto" else f"{node.cores} cores"),
        sure("node.gpus", "GPUs as counted on the machine" if node.gpus == "auto" else f"{node.gpus} GPU"),
        *([sure("node.gpu", node.gpu)] if node.gpu else []),
        *([sure("node.memory", format_size(node.memory))] if node.memory else []),
        *([sure("node.network", node.network)] if node.network else []),
    ]
    dialect = [f"{key} `{value}`" for key, value in cluster.dialect.items() if value not in (None, False, "none")]
    per_node = {"auto": "one a GPU (without GPUs: one, unless told)"}.get(
        str(cluster.processes_per_node), str(cluster.processes_per_node)
    )
    yield from (f"## {cluster.name}", "", localized(cluster.title, cluster.name), "")
    yield f"- scheduler: `{cluster.scheduler}`" + (f"; {', '.join(dialect)}" if dialect else "")
    yield f"- node: {', '.join(shape)}; processes a node: {sure('processes_per_node', per_node)}"
    yield (
        f"- launchers: {', '.join(f'`{each}`' for each in cluster.launchers)}; starter: "
        + sure("starter", f"`{cluster.starter}`")
        + f"; MPI: {sure('mpi', cluster.mpi)}"
    )
    if cluster.visible_from_nodes:
        yield f"- compute nodes see: {', '.join(f'`{each}`' for each in cluster.visible_from_nodes)}"
    if cluster.environment:
        yield f"- environment: {sure('environment', '; '.join(f'`{each}`' for each in cluster.environment))}"
    if not cluster.queues:
        yield "- queues: not known to the profile; only the scheduler can say no"
    else:
        yield from ("", "| queue | nodes | walltime | |", "|---|---|---|---|")
        for name, queue in cluster.queues.items():
            yield _queue(name, queue, sure)
    others = [
        path for path in cluster.unverified if not re.fullmatch(r"node\..*|queues\..*|starter|mpi|environment", path)
    ]
    if others:
        yield from ("", f"Also not confirmed: {', '.join(f'`{path}`' for path in others)}.")
    if cluster.sources:
        yield from ("", "| source | date | | values |", "|---|---|---|---|")
        yield from (_source(cluster, name) for name in cluster.sources)


def _source(cluster: Cluster, name: str) -> str:
    source = cluster.sources[name]
    title = localized(source.title) + ("" if source.confirmed else " (to be confirmed)")
    cited = {key: [ids] if isinstance(ids, str) else ids for key, ids in cluster.evidence.items()}
    values = ", ".join(f"`{key}`" for key, ids in cited.items() if name in ids)
    return f"| {name} | {source.date} | {_cell(f'[{title}]({source.url})' if source.url else title)} | {values} |"


def _queue(name: str, queue: Queue, sure: Callable[[str, object], str]) -> str:
    nodes = "–" if queue.nodes is None else sure(f"queues.{name}.nodes", f"{queue.min_nodes}–{queue.nodes}")
    walltime = "–" if queue.walltime is None else sure(f"queues.{name}.walltime", format_walltime(queue.walltime))
    most = queue.processes_per_node
    notes = [f"{most} process{'' if most == 1 else 'es'} a node"] if most else []
    notes += [localized(queue.note)] if queue.note else []
    return f"| `{name}` | {nodes} | {walltime} | {'; '.join(notes)} |"


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def run(arguments: list[str]) -> int:
    """Write the pages; with `--check` only say which are not up to date, and return 1 when one is not."""
    with speaking("en"):
        made = files()
    stale = [name for name, text in made.items() if not _is(FOLDER / name, text)]
    for name in stale:
        print(FOLDER / name)
        if "--check" not in arguments:
            (FOLDER / name).write_text(made[name], encoding="utf-8")
    return 1 if stale and "--check" in arguments else 0


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
