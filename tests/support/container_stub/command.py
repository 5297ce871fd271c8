"""What a stand-in does: read its command line, note it, and run the command as the image would see it."""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from support.container_stub.manuals import MANUALS

IMAGE_PATH = "/usr/local/bin:/usr/bin:/bin"


class UsageError(Exception):
    """A command line that the tool would refuse."""


def parsed(tool: str, words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the options with their values, and what stands behind them. Raises UsageError by the tool's manual."""
    manual, options = MANUALS[tool], []
    rest = list(words)
    for word in manual.before:
        if not rest or rest.pop(0) != word:
            raise UsageError(f"{tool}: expected `{word}`")
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name in manual.flags and not equals:
            options.append((name, ""))
        elif name in manual.valued and (equals or rest):
            options.append((name, value if equals else rest.pop(0)))
        else:
            raise UsageError(f"{tool}: unknown option, or one without its value: {word}")
    return options, rest


def seen(tool: str, words: list[str], around: Mapping[str, str]) -> dict[str, object]:
    """Return what a program in the image sees: image, command, folder, environment, binds. Raises UsageError."""
    options, rest = parsed(tool, words)
    values: dict[str, list[str]] = {}
    for name, value in options:
        values.setdefault(name, []).append(value)
    environment = {"PATH": around.get("CONTAINER_STUB_PATH", IMAGE_PATH)}
    binds: list[str] = []
    if tool in ("apptainer", "singularity"):
        prefix = f"{tool.upper()}ENV_"
        environment |= {name.removeprefix(prefix): value for name, value in around.items() if name.startswith(prefix)}
        if "--cleanenv" not in values:
            environment = dict(around) | environment
        binds, folder, image = values.get("--bind", []), values.get("--pwd", ["/"])[-1], rest.pop(0)
        binds = [entry for bind in binds for entry in bind.split(",")]
    elif tool in ("podman", "podman-hpc"):
        environment |= _named(values.get("--env", []), around)
        binds, folder, image = values.get("--volume", []), values.get("--workdir", ["/"])[-1], rest.pop(0)
    elif tool == "sarus":
        environment = {**around, **environment, **_named(values.get("--env", []), around)}
        mounts = [dict(part.split("=", 1) for part in mount.split(",")) for mount in values.get("--mount", [])]
        if any(mount["type"] != "bind" for mount in mounts):
            raise UsageError("sarus: the type of a mount is bind")
        binds = [f"{mount['source']}:{mount['destination']}" for mount in mounts]
        folder, image = values.get("--workdir", ["/"])[-1], rest.pop(0)
    elif tool == "shifter":
        if "--clearenv" not in values:
            environment = {**around, **environment}
        environment |= _named(values.get("--env", []), {})
        binds, folder = values.get("--volume", []), values.get("--workdir", [str(Path.cwd())])[-1]
        kind, colon, image = values["--image"][-1].partition(":")
        if not colon or kind not in ("docker", "id"):
            raise UsageError("shifter: an image is TYPE:NAME")
    else:  # pyxis: all of the node's variables but those that the image has, of those that srun hands over
        named = values.get("--export", ["ALL"])[-1].split(",")
        handed = around if "ALL" in named else {name: around[name] for name in named if name in around}
        environment = {**handed, **environment, **{n: v for n, v in around.items() if n.startswith("SLURM_")}}
        binds = values["--container-mounts"][-1].split(",")
        folder, image = values["--container-workdir"][-1], values["--container-image"][-1]
    for bind in binds:
        source, _, target = bind.partition(":")
        if not Path(source).exists() or (target and source != target):
            raise UsageError(f"{tool}: cannot bind {bind}")
    return {
        "tool": tool, "image": image, "command": rest, "folder": folder, "environment": environment, "binds": binds,
        "options": options,
    }  # fmt: skip


def _named(entries: list[str], around: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if equals or name in around:
            found[name] = value if equals else around[name]
    return found


def main(tool: str, words: list[str]) -> None:
    """Run one command line; ends with 125 where the tool would refuse it."""
    try:
        inside = seen(tool, words, os.environ)
    except (UsageError, KeyError, IndexError, ValueError) as error:
        print(f"{tool}: {error!r}", file=sys.stderr)
        raise SystemExit(125) from None
    with Path(os.environ.get("CONTAINER_STUB", "/dev/null")).open("a") as notes:
        notes.write(json.dumps(inside) + "\n")
    if tool == "srun":
        _start_by_srun(words, inside)
    environment = {**inside["environment"], "IN_IMAGE": str(inside["image"])}  # type: ignore[dict-item]
    os.chdir(str(inside["folder"]))
    command = inside["command"]
    assert isinstance(command, list)
    os.execvpe(command[0], command, environment)


def _start_by_srun(words: list[str], inside: Mapping[str, object]) -> None:
    """Have the real srun start this stand-in on each task, which then becomes the program in the image."""
    own = Path(sys.argv[0]).parent
    path = os.pathsep.join(name for name in os.environ["PATH"].split(os.pathsep) if Path(name) != own)
    options, rest = parsed("srun", words)
    others = [f"{name}={value}" if value else name for name, value in options if not name.startswith("--container")]
    others = [option for option in others if not option.startswith(("--export", "--no-container"))]
    real = str(shutil.which("srun", path=path))
    words = [sys.executable, str(own / "inside"), json.dumps({**inside, "environment": [], "command": rest})]
    names = next(value for name, value in options if name == "--export")
    os.execve(real, [real, *others, *words, names], {**os.environ, "PATH": path})


def be_inside(told: str, names: str) -> None:
    """Become the program of a task: with what srun hands over, what Slurm gives a task, and the image's own."""
    inside = json.loads(told)
    given = {name: value for name, value in os.environ.items() if name in names.split(",")}
    given |= {name: value for name, value in os.environ.items() if name.startswith(("SLURM_", "PMI"))}
    os.chdir(inside["folder"])
    environment = {**given, "PATH": os.environ["CONTAINER_STUB_PATH"], "IN_IMAGE": inside["image"]}
    os.execvpe(inside["command"][0], inside["command"], environment)


def install(folder: Path, tests: Path, *tools: str) -> Path:
    """Write the commands of stand-ins into a folder, and return it. Sarus empties its environment: paths are fixed."""
    folder.mkdir(parents=True, exist_ok=True)
    notes = folder / "notes.jsonl"
    for tool in (*tools, "inside"):
        path = folder / tool
        run = f"main({tool!r}, sys.argv[1:])" if tool != "inside" else "be_inside(*sys.argv[1:])"
        path.write_text(
            f"#!{sys.executable}\nimport os, sys\nsys.path.insert(0, {str(tests)!r})\n"
            f"os.environ.update(CONTAINER_STUB={str(notes)!r}, "
            f"CONTAINER_STUB_PATH={f'{Path(sys.executable).parent}:{IMAGE_PATH}'!r})\n"
            f"from support.container_stub.command import be_inside, main\n{run}\n"
        )
        path.chmod(0o755)
    return folder
