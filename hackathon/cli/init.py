"""`hackathon init`: create a project in a folder."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import Assignment, completing, named
from hackathon.event.draft import scalar
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _, localized

if TYPE_CHECKING:
    from hackathon.programs.training.of_sources import Reports


@named(
    "init",
    help=_(
        "Create a project: a project.yaml for a recipe or for your own command. Your own program is not "
        "changed.\n"
        "\n"
        "  hackathon init --recipe torch-ddp digits\n"
        '  hackathon init --command "python train.py --lr {lr}" -p lr=0.1'
    ),
)
@click.argument("folder", required=False, default=".", type=click.Path(path_type=Path))
@click.option("--recipe", metavar="NAME", help=_("Recipe to use."))
@click.option("--command", "words", metavar="TEXT", help=_("Use your own command; {name} stands for a parameter."))
@click.option("--name", metavar="NAME", help=_("Name of the project (default: the folder's name)."))
@click.option("--team", metavar="NAME", help=_("Name of the team."))
@click.option(
    "--cluster",
    metavar="NAME",
    shell_complete=completing("cluster"),
    help=_("Cluster profile (`hackathon clusters` lists them)."),
)
@click.option("--copy", is_flag=True, help=_("Copy the recipe's program into the project so that you can change it."))
@click.option(
    "--from-log", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help=_("Write the `metrics:` entry for this output of your program."),
)  # fmt: skip
@click.option("-p", "--parameter", type=Assignment(), multiple=True, help=_("Set a parameter; may be repeated."))
def command(
    folder: Path,
    recipe: str | None,
    words: str | None,
    name: str | None,
    team: str | None,
    cluster: str | None,
    copy: bool,
    from_log: Path | None,
    parameter: tuple[tuple[str, str], ...],
) -> None:
    import shlex
    import shutil

    from hackathon.config import load
    from hackathon.config.trust import folders_that_count, writable_folder
    from hackathon.runs.source.selection import RECORDS_IN
    from hackathon.schedulers import registry
    from hackathon.text.files import write_whole
    from hackathon.text.paths import runtime_file

    if folder.exists() and not folder.is_dir():
        line = {".py": "python ", ".sh": "bash "}.get(folder.suffix, "./") + shlex.quote(folder.name)
        raise RequestError(
            "cli.init_program",
            "{file} is a file; `init` takes the folder of the project",
            hint="for a program of your own, in the folder where it is: `{command}`",
            file=folder,
            command=f"hackathon init --command {shlex.quote(line)}",
        )
    folder = folder.resolve()
    path = folder / "project.yaml"
    if path.exists():
        raise RequestError(
            "cli.project_exists", "{file} already exists", hint="edit it, or choose another folder", file=path
        )
    if (recipe is None) == (words is None):
        raise RequestError(
            "cli.init_one_of",
            "give either --recipe NAME or --command TEXT",
            hint="`hackathon recipes` lists recipes; for a program of your own: `hackathon init --command 'python "
            "train.py'`",
        )
    if from_log is not None and words is None:
        raise RequestError(
            "suggest.only_command",
            "--from-log describes the output of your own command",
            hint="use --command instead of --recipe",
        )
    lines = [
        "# " + _("A hackathon project; `hackathon schema project` describes every key."),
        f"name: {scalar(name or folder.name)}",
    ]
    if team:
        lines.append(f"team: {scalar(team)}")
    assignments = dict(parameter)
    # as for the project's jobs: its own folder and the event's, not those of a project around it
    around = folders_that_count(folder)
    folders = [folder, *(parent for parent in around if parent != folder and (parent / load.EVENT_FILE).is_file())]
    program, left_out = None, ""
    if recipe is not None:
        definition, program = load.load_recipe(recipe, folders)
        named_so = load.recipe_on_path(definition.name, folders)
        if named_so is None or named_so.resolve() != program.resolve():
            raise RequestError(
                "cli.recipe_elsewhere",
                "a project names its recipe, and this name does not lead to {folder}",
                hint="copy the recipe to {place}",
                folder=program,
                place=folder / "recipes" / definition.name,
            )
        lines.append(f"recipe: {definition.name}")
        unknown = [key for key in assignments if key not in definition.parameters]
        if unknown:
            raise RequestError(
                "cli.no_parameter", "recipe {recipe} has no parameter {name!r}", name=unknown[0], recipe=definition.name
            )
        # parameters that a study varies are written; the others are comments with their defaults
        values = {key: assignments.get(key, declared.default) for key, declared in definition.parameters.items()}
        settings = {key: value for key, value in values.items() if value is not None}
        active = {definition.scaling.weak.scale_learning_rate, definition.scaling.strong.divide, *assignments} & set(
            settings
        )
        active = active or set(list(settings)[:1])
        lines.append("parameters:" if settings else "parameters: {}")
        for key, value in settings.items():
            help_text = definition.parameters[key].help
            note = f"   # {localized(help_text)}" if help_text else ""
            lines.append(f"  {'' if key in active else '# '}{key}: {_value(value)}{note}")
    else:
        import re

        from hackathon.config.command import COUNTS, command_words

        placeholders = dict.fromkeys(re.findall(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})", str(words)))
        missing = [placeholder for placeholder in placeholders if placeholder not in (*assignments, *COUNTS)]
        if missing:
            raise RequestError(
                "cli.init_values",
                "the command uses {names}: give a value",
                hint="e.g. {example}",
                names=", ".join(missing),
                example=f"-p {missing[0]}=…",
            )
        _refuse_notebook(command_words(str(words), {**dict.fromkeys(COUNTS, 1), **assignments}))
        words, launcher, left_out = _without_launcher(str(words))
        lines.append(f"command: {scalar(words)}")
        if launcher:
            lines.append(f"launcher: {launcher}")
        if framework := _framework(folder, str(words)):
            lines.append(f"framework: {framework}")
        if assignments:
            lines += ["parameters:", *(f"  {key}: {_value(text)}" for key, text in assignments.items())]
        if from_log is not None:
            from hackathon.cli.study import suggest

            lines += suggest.from_log(from_log)
        else:
            lines += [
                "# " + _("needed only if the output format of your program is not recognised (common formats are)"),
                "# metrics:",
                "#   samples_per_s: {pattern: 'throughput: ([0-9.]+)', unit: samples/s, reduce: median, skip_first: 2}",
            ]
    reports: Reports = ()
    links: list[str] = []
    if words is not None:
        from hackathon.cli.program_findings import read_new

        reports, links = read_new(folder, words)
        if links:
            lines.append(f"# {_('each run links what it reads here and git ignores')}")
            lines.append(f"exclude: {json.dumps(links, ensure_ascii=False)}")
    if cluster:
        registry.load_cluster(cluster, folders)
        lines.append(f"cluster: {scalar(cluster)}")
    lines += [f"# {_('time limit; shorter jobs start earlier')}", "walltime: 00:10:00", ""]
    text = "\n".join(lines)
    # validated before it is written, so that the next try does not find an invalid file
    load.load_project(folder, text.encode())
    writable_folder(folder)
    files = [path]
    write_whole(path, text)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        # a folder of the user with such a name belongs to the program
        made = [name for name in RECORDS_IN if not (folder / name).exists()]
        write_whole(ignore, "".join(f"{name}/\n" for name in (*made, "__pycache__", ".venv")))
        files.append(ignore)
    if copy and program is not None:
        own = {file.name: file for file in sorted(program.iterdir()) if file.is_file()}
        shared = load.shared_files(definition, program) if definition.entry in own else {}
        for file_name, file in {**shared, **own}.items():
            if file_name not in ("recipe.yaml", "README.md") and not (folder / file_name).exists():
                shutil.copyfile(file, folder / file_name)
                files.append(folder / file_name)
    runtime = folder / "hackathon_runtime.py"
    if words is not None and not runtime.exists():
        shutil.copyfile(runtime_file(), runtime)
        files.append(runtime)
    for file in files:
        click.echo(_("created {file}", file=file))
    following = _("next: cd {folder!q} && hackathon try && hackathon scale --processes 1,2 --wait", folder=folder)
    if words is not None:
        from hackathon.cli.program_findings import read_new, show_reports

        if reports:  # findings in the command name a line of project.yaml, which exists only now
            reports = read_new(folder, words)[0]
        if left_out:
            note = N_("left out of the command: `{words}`. The toolkit starts the ranks itself: `launcher: {launcher}`")
            click.echo(_(note, words=left_out, launcher=launcher), err=True)
        if from_log is None:
            click.echo(_formats_told(words, folder), err=True)
        if links:
            note = N_("each run gets a link to {paths}, which git ignores (`exclude:` in project.yaml)")
            click.echo(_(note, paths=", ".join(links)), err=True)
        show_reports(reports, err=True)
        following = _before_a_try(reports, folder) or following
    click.echo(following, err=True)


def _refuse_notebook(command: Sequence[str]) -> None:
    """Raise RequestError when a command starts a notebook."""
    from hackathon.programs.training import launchers

    launch = launchers.launched(command)
    name = launchers.started(launch.program if launch else command).file
    if name.endswith(".ipynb"):
        raise RequestError(
            "cli.init_notebook",
            "{file} is a notebook, and Python cannot run it",
            hint="convert it with `jupyter nbconvert --to script {file!q}`, remove lines that begin with % or !, and "
            "give the new file",
            file=name,
        )


def _without_launcher(words: str) -> tuple[str, str, str]:
    """Return a command without the launcher it starts, the value of `launcher:` for it, and what is left out.

    All but the command are empty where it starts none, or where more than the number of ranks would be lost.
    """
    import shlex

    from hackathon.config.command import joined_lines
    from hackathon.programs.training import launchers

    command = shlex.split(joined_lines(words))
    launch, call = launchers.launched(command), launchers.launcher_call(command)
    if launch is None or call is None or not launch.rest or not launchers.only_counts(command, call):
        return words, "", ""
    left_out = command[: len(command) - len(call.program)]
    return launchers.joined(launch.rest), launch.key, launchers.joined(left_out)


def _before_a_try(reports: "Reports", folder: Path) -> str:
    """Return the next step if `hackathon try`, which runs several processes, would refuse the program.

    Else an empty text.
    """
    from hackathon.programs.training.files import port_knows

    findings = [(report.path, finding) for report, _ in reports for finding in report.findings]
    wrong = any(finding.severity == "error" for _, finding in findings)
    alone = next((path for path, finding in findings if finding.rule == "no-process-group"), None)
    if not wrong and alone is None:
        return ""
    if not wrong and alone is not None and port_knows(folder, alone):
        return _("next: cd {folder!q} && hackathon port {file!q}", folder=folder, file=alone)
    return _("next: correct what is listed above, then: cd {folder!q} && hackathon check", folder=folder)


def _framework(folder: Path, words: str) -> str:
    """Return `torch` for a program whose own files train with PyTorch alone, `tensorflow` for one that reads TF_CONFIG.

    Empty for others. Only PyTorch has a launcher of its own; a program of Horovod or MPI needs another one.
    """
    import shlex

    from hackathon.programs.training.entries import start_of
    from hackathon.runs.source.program_text import imports, program_files

    start = start_of(folder, tuple(shlex.split(words)))
    if not start.files or start.own_launcher is not None:
        return ""
    files = list(program_files(folder, *start.files))
    roots = {module.partition(".")[0] for file in files for own, module in imports(folder, file) if not own}
    if "tensorflow" in roots and not roots & {"torch", "horovod", "mpi4py", "hackathon_runtime"}:
        return "tensorflow" if any("MultiWorkerMirroredStrategy" in file.text for file in files) else ""
    others = {"horovod", "mpi4py", "chainermn", "tensorflow", "keras", "jax"}
    return "torch" if "torch" in roots and not roots & others else ""


def _formats_told(words: str, folder: Path) -> str:
    """Return a note about the numbers that a command's program will print, by its imports."""
    import contextlib
    import shlex

    from hackathon.logs.formats import expected

    texts = []
    for word in shlex.split(words):
        with contextlib.suppress(OSError, ValueError):
            if word.endswith(".py"):
                with (folder / word).open("rb") as stream:
                    texts.append(stream.read(1 << 20).decode("utf-8", "replace"))
    formats = expected("\n".join(texts))
    if not formats:
        return _(
            "Numbers such as `812 samples/s` and `loss 0.5` are read without configuration. Where your program "
            "writes them otherwise, `hackathon results --suggest` shows after a run what to put under "
            "`metrics:` in project.yaml"
        )
    rates = dict.fromkeys(name for form in formats for name in form.throughput)
    return _(
        "recognised output formats: {formats} (throughput: {metrics})",
        formats=", ".join(form.title for form in formats),
        metrics=", ".join(rates),
    )


def _value(value: object) -> str:
    """Return a parameter's value as YAML: numbers and booleans plain, everything else as a string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    try:
        float(text)
    except ValueError:
        return text if text in ("true", "false") else scalar(text)
    return text if text[0].isdigit() or text[0] in "-." else scalar(text)
