"""`hackathon init`: create a project in a folder."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import Assignment, named
from hackathon.text.errors import RequestError
from hackathon.text.messages import localized, message

if TYPE_CHECKING:
    from hackathon.cli.program_findings import Reports


@named("init", help=message("help.init_help"))
@click.argument("folder", required=False, default=".", type=click.Path(path_type=Path))
@click.option("--recipe", metavar="NAME", help=message("help.option_recipe"))
@click.option("--command", "words", metavar="TEXT", help=message("help.option_command"))
@click.option("--name", metavar="NAME", help=message("help.option_name"))
@click.option("--team", metavar="NAME", help=message("help.option_team"))
@click.option("--cluster", metavar="NAME", help=message("help.option_cluster"))
@click.option("--copy", is_flag=True, help=message("help.option_copy"))
@click.option(
    "--from-log", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help=message("suggest.option_from_log"),
)  # fmt: skip
@click.option("-p", "--parameter", type=Assignment(), multiple=True, help=message("help.option_parameter"))
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
    from hackathon.schedulers import profiles
    from hackathon.text.files import write_whole
    from hackathon.text.paths import runtime_file

    if folder.exists() and not folder.is_dir():
        line = {".py": "python ", ".sh": "bash "}.get(folder.suffix, "./") + shlex.quote(folder.name)
        raise RequestError("cli.init_program", file=folder, command=f"hackathon init --command {shlex.quote(line)}")
    folder = folder.resolve()
    path = folder / "project.yaml"
    if path.exists():
        raise RequestError("cli.project_exists", file=path)
    if (recipe is None) == (words is None):
        raise RequestError("cli.init_one_of")
    if from_log is not None and words is None:
        raise RequestError("suggest.only_command")
    lines = [f"# {message('cli.project_comment')}", f"name: {_scalar(name or folder.name)}"]
    if team:
        lines.append(f"team: {_scalar(team)}")
    assignments = dict(parameter)
    # as for the project's jobs: its own folder and the event's, not those of a project around it
    around = folders_that_count(folder)
    folders = [folder, *(parent for parent in around if parent != folder and (parent / load.EVENT_FILE).is_file())]
    program = None
    if recipe is not None:
        definition, program = load.load_recipe(recipe, folders)
        named_so = load.recipe_on_path(definition.name, folders)
        if named_so is None or named_so.resolve() != program.resolve():
            raise RequestError("cli.recipe_elsewhere", folder=program, place=folder / "recipes" / definition.name)
        lines.append(f"recipe: {definition.name}")
        unknown = [key for key in assignments if key not in definition.parameters]
        if unknown:
            raise RequestError("cli.no_parameter", name=unknown[0], recipe=definition.name)
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

        from hackathon.config.command import command_words

        placeholders = dict.fromkeys(re.findall(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})", str(words)))
        missing = [placeholder for placeholder in placeholders if placeholder not in assignments]
        if missing:
            raise RequestError("cli.init_values", names=", ".join(missing), example=f"-p {missing[0]}=…")
        command_words(str(words), dict(assignments))
        lines.append(f"command: {_scalar(str(words))}")
        if framework := _framework(folder, str(words)):
            lines.append(f"framework: {framework}")
        if assignments:
            lines += ["parameters:", *(f"  {key}: {_value(text)}" for key, text in assignments.items())]
        if from_log is not None:
            from hackathon.cli.study import suggest

            lines += suggest.from_log(from_log)
        else:
            lines += [
                f"# {message('cli.metrics_comment')}",
                "# metrics:",
                "#   samples_per_s: {pattern: 'throughput: ([0-9.]+)', unit: samples/s, reduce: median, skip_first: 2}",
            ]
    if cluster:
        profiles.load_cluster(cluster, folders)
        lines.append(f"cluster: {_scalar(cluster)}")
    lines += [f"# {message('cli.walltime_comment')}", "walltime: 00:10:00", ""]
    text = "\n".join(lines)
    # validated before it is written, so that the next try does not find an invalid file
    load.load_project(folder, text.encode())
    writable_folder(folder)
    files = [path]
    write_whole(path, text)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        write_whole(ignore, "runs/\nstudies/\n__pycache__/\n.venv/\n")
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
        click.echo(message("cli.made", file=file))
    following = message("cli.init_next", folder=folder)
    if words is not None:
        from hackathon.cli.program_findings import read_new, show_reports

        if from_log is None:
            click.echo(_formats_told(words, folder), err=True)
        reports = read_new(folder, words)
        show_reports(reports, err=True)
        following = _before_a_try(reports, folder) or following
    click.echo(following, err=True)


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
        return message("cli.init_next_port", folder=folder, file=alone)
    return message("cli.init_next_mend", folder=folder)


def _framework(folder: Path, words: str) -> str:
    """Return `torch` for a program whose own files train with PyTorch alone; empty for others.

    Only PyTorch has a launcher of its own; a program of Horovod or MPI needs another one.
    """
    import shlex

    from hackathon.programs.training.entries import start_of
    from hackathon.runs.source.program_text import imports, program_files

    start = start_of(folder, tuple(shlex.split(words)))
    if not start.files or start.own_launcher is not None:
        return ""
    roots = {
        module.partition(".")[0]
        for file in program_files(folder, *start.files)
        for own, module in imports(folder, file)
        if not own
    }
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
        return message("cli.formats_unknown")
    rates = dict.fromkeys(name for form in formats for name in form.throughput)
    return message("cli.formats_known", formats=", ".join(form.title for form in formats), metrics=", ".join(rates))


def _scalar(text: str) -> str:
    """Return a text as a YAML 1.2 scalar: plain if it is unambiguous, otherwise as JSON, which is valid YAML."""
    bare = text.isascii() and text[:1].isalpha() and all(character.isalnum() or character in "-_" for character in text)
    return text if bare and text.lower() not in ("true", "false", "null") else json.dumps(text, ensure_ascii=False)


def _value(value: object) -> str:
    """Return a parameter's value as YAML: numbers and booleans plain, everything else as a string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    try:
        float(text)
    except ValueError:
        return text if text in ("true", "false") else _scalar(text)
    return text if text[0].isdigit() or text[0] in "-." else _scalar(text)
