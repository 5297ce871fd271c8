"""Rules about the commands of a script that work at a prompt but fail in a job."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from hackathon.programs.scripts.findings import Edit
from hackathon.programs.scripts.look import ScriptLook
from hackathon.programs.scripts.shell import LONGEST, Command
from hackathon.schedulers.scripts import Setting
from hackathon.text.messages import _
from hackathon.text.numbers import digits

_LAUNCHERS = re.compile(r"(?:\S*/)?(?:mpirun|mpiexec|mpiexec\.hydra|orterun|prterun)\Z")
_RANKS = ("-np", "-n", "--np", "--n")
_PLACING = re.compile(
    r"-(?:-)?(?:npernode|ppn|perhost|pernode|N|map-by|bind-to|hostfile|machinefile|host|hosts|H|f|rf|rankfile|nolocal"
    r"|npersocket|bynode|loadbalance|configfile|app|ppr\S*)\b"
)
_FILE = re.compile(
    r"(?:\.{1,2}/|[\w][\w./-]*\.(?:py|sh|R|r|m|jl|exe|out|in|inp|txt|json|ya?ml|cfg|csv|ipynb|pl|rb|lua|c|f90)\Z)"
)
_QUIET = re.compile(
    r"(?:\S*/)?(?:echo|printf|date|exit|true|:|cd|popd|pushd|export|unset|set|hostname|disown|return|trap|\w+=.*)\Z"
)
_GOES = re.compile(r"(?:\S*/)?(?:cd|pushd)\Z")
_INITIALISES = re.compile(
    r"modules?\.sh|/etc/profile|/init/|Modules|lmod|Lmod|bash_profile|\.bashrc|\.bash_login|\.profile|z00_|modulerc|lmod\.sh"
)
_MODULE = re.compile(r"(?:module|ml)\Z")
_BASH_ONLY = re.compile(
    r"\[\[(?:\s|\Z)|<<<|(?:^|\s)(?:function\s+\w|declare\s|typeset\s|mapfile\s|readarray\s|shopt\s)|\w\+?=\(|[<>]\(|(?<!\$)\{\d+\.\.\d+\}"
)
_DOWNLOADS = re.compile(r"(?:\S*/)?(?:wget|curl|git|pip[\d.]*|conda|mamba|apt-get|huggingface-cli)\Z")
_LOCAL = re.compile(r"localhost|127\.0\.0\.1|--no-index|--find-links|file://|\$\{?MASTER_ADDR")
_SETS = re.compile(r"(?:\A|\s)-(?:[a-zA-Z]*u|[a-zA-Z]*o nounset\b)")
_UNSETS = re.compile(r"(?:\A|\s)\+(?:[a-zA-Z]*u|[a-zA-Z]*o nounset\b)")
_LOOSE = re.compile(
    r"(?:conda|mamba|micromamba) (?:de)?activate\b"
    r"|(?:source|\.) (?:(?:\S*/)?activate(?:\s+[\w$]\S*)|\S*conda\S*/bin/activate\b|\S*/setvars\.sh\b|\S*/?\.bashrc\b"
    r"|/etc/(?:bashrc|bash\.bashrc|profile)(?:\s|\Z))"
)
"""Scripts that use variables which may not be set."""
_NOT_SOURCED = re.compile(r"\./(?=etc/profile|\S*bin/activate\Z)")


def check_body(look: ScriptLook) -> None:
    """Report mistakes in the commands, if a shell reads them."""
    if not look.shell.shell:
        return
    commands = look.shell.commands
    _folder(look, commands)
    _modules(look, commands)
    _strict(look, commands)
    _continued(look, commands)
    _background(look, commands)
    _ranks(look, commands)
    _others(look, commands)
    _variables(look)
    check_shell(look)


def _program(command: Command) -> tuple[str, tuple[str, ...]]:
    """Return the program of a command and its words, without assignments and starters of other programs."""
    words = list(command.words)
    while words and (
        re.match(r"\w+=", words[0]) or words[0] in ("exec", "time", "nohup", "env", "command", "sudo", "nice")
    ):
        words.pop(0)
    return (words[0], tuple(words[1:])) if words else ("", ())


def _folder(look: ScriptLook, commands: tuple[Command, ...]) -> None:
    """Report a job that starts in the home folder and does not change to the folder of its files."""
    language = look.language
    keys = {setting.key for setting in look.settings}
    if not language.starts_at_home or keys & language.stays_if or not look.directives or not commands:
        return
    if language.site_may_stay and look.machine is None:  # a file of the site may hold the option
        return
    text = "\n".join(look.source.lines)
    if re.search(rf"\b{language.submit_folder}\b|\$\{{?(?:BASH_SOURCE|0)\b", text):
        return
    for command in commands:
        program, words = _program(command)
        if _GOES.match(program) or program in ("source", ".", "singularity", "apptainer", "docker"):
            return
        if "-wdir" in words or "--wdir" in words or "--chdir" in words:
            return
        if any(_FILE.match(word) for word in (program if "/" in program else "", *words)):
            better = f'cd "${language.submit_folder}"'
            stays = sorted(language.stays_if & {"-cwd"})
            if stays:
                better = f"{language.prefix} {stays[0]}"
            look.add("not-in-folder", command.line, better if stays else f"{better}\n{command.raw}", better=better)
            return


def _modules(look: ScriptLook, commands: tuple[Command, ...]) -> None:
    """Report misused modules: unknown to the shell, or mixed with the submission's."""
    loads = [
        command
        for command in commands
        if _MODULE.match(_program(command)[0]) and set(_program(command)[1]) & {"load", "add"}
    ]
    if not loads:
        return
    first = loads[0]
    purged = any(_MODULE.match(_program(command)[0]) and "purge" in command.words for command in commands)
    option = look.language.passes_environment
    passing = look.setting(option) if option else None
    if passing and not purged:
        look.add("environment-passed", passing.line, option=passing.written)
    before = "\n".join(look.source.lines[: first.line - 1])
    login = re.match(r"#!.*\s(?:-\w*l\w*|--login)\b", look.line(1)) if look.source.lines else None
    sourced = any(_program(command)[0] in ("source", ".") for command in commands if command.line < first.line)
    if look.has_rule("modules-unknown") and not login and not sourced and not _INITIALISES.search(before):
        better = ". /etc/profile.d/modules.sh"
        look.add("modules-unknown", first.line, f"{better}\n{first.raw}", better=better)


def _strict(look: ScriptLook, commands: tuple[Command, ...]) -> None:
    """Report scripts that are read under `set -u` and are known to use variables that are not set.

    These are start-up files of the shell (`BASHRCSOURCED` of `/etc/bashrc`), scripts of conda packages (conda issues
    3200, 9966, 9979) and of oneAPI (`OCL_ICD_FILENAMES`). `module load` is not among them: Lmod 7.8.6 and Environment
    Modules 4.1.1 were corrected in 2018, and one later version of Lmod, 9.2.4, within a week.
    """
    strict = bool(re.match(r"#!.*sh\s+-\w*u", look.line(1))) if look.source.lines else False
    for command in commands:
        program, words = _program(command)
        if program == "set" and words:
            text = " ".join(words)
            strict = bool(_SETS.search(text)) or (strict and not _UNSETS.search(text))
        elif strict and _LOOSE.match(" ".join((program.rpartition("/")[2], *words))):
            raw = command.raw.strip()
            better = f"set +u\n{raw}\nset -u" if command.line == command.end and not command.depth else None
            look.add("strict-environment", command.line, better, command=raw)
            return


def _continued(look: ScriptLook, commands: tuple[Command, ...]) -> None:
    """Report a command of several lines that ends too early: the shell takes its next option for a command."""
    lines = look.source.lines
    for before, command in pairwise(commands):
        word = command.words[0]
        gap = lines[before.end : command.line - 1]
        if not re.match(r"--?[A-Za-z][\w-]*(?:=.*)?\Z", word) or not lines[command.line - 1].lstrip().startswith(word):
            continue
        if before.words[0].startswith("-") or re.match(r"\s*-[^()]*\)", lines[command.line - 1]):
            continue
        last = lines[before.end - 1]
        if last.count("${") > last.count("}"):
            continue
        if any(text.strip() and not text.lstrip().startswith("#") for text in gap):
            continue
        line = before.end + 1 if last.endswith("\\") else before.end
        better = (
            re.sub(r"\s*(?:\\\s*)?(?:(?<=\s)#.*)?\Z", lambda __: " \\", last, count=1) if line == before.end else None
        )
        look.add("continuation-broken", min(line, command.line - 1), better, word=word)


def _background(look: ScriptLook, commands: tuple[Command, ...]) -> None:
    """Report background commands without a `wait`: the job ends, and they are killed."""
    last = next((number for number in range(len(commands) - 1, -1, -1) if commands[number].background), None)
    if last is None:
        return
    if any(_program(command)[0] in ("wait", "fg") or "wait" in command.raw.split() for command in commands):
        return
    if any(not _QUIET.match(_program(command)[0] or "x=1") for command in commands[last + 1 :]):
        return
    if _QUIET.match(_program(commands[last])[0] or "x=1"):
        return
    end = len(look.source.lines)
    edits = [Edit(commands[last].line, (commands[last].raw, "wait"))] if commands[last].depth == 0 and end else []
    simple = commands[last].raw.rstrip().endswith("&")
    closing = _closing(look, commands[last]) if commands[last].depth else commands[last].raw if simple else ""
    look.add("not-waited", commands[last].line, f"{closing}\nwait" if closing else None,
             edits=edits if simple else [])  # fmt: skip


def _closing(look: ScriptLook, command: Command) -> str:
    """Return the line that ends the outermost loop around a command; "" without one."""
    done = re.compile(r"done\b[^|&]*\Z")
    lines = look.source.lines[command.end or command.line :]
    return next((line for line in lines if done.match(line)), "")


def _ranks(look: ScriptLook, commands: tuple[Command, ...]) -> None:
    """Compare the ranks of mpirun with those of the request."""
    calls = [(command, *_program(command)) for command in commands if _LAUNCHERS.match(_program(command)[0])]
    total, nodes = look.request.total(), look.request.nodes
    for command, __, words in calls:
        count = _count(words)
        if count is None or total is None:
            continue
        if count > total:
            look.add("ranks-differ", command.line, ranks=count, processes=total)
            continue
        own = _number_behind(words, ("-npernode", "--npernode", "-ppn"))
        if own is not None and nodes and count > own * nodes:
            look.add("ranks-differ", command.line, ranks=count, processes=own * nodes)
        per_node = look.request.per_node()
        placed = any(_PLACING.match(word) for word in words)
        if len(calls) == 1 and not command.background and not placed and nodes and nodes > 1 and per_node:
            idle = nodes - -(-count // per_node)
            if idle > 0:
                look.add("ranks-idle", command.line, ranks=count, processes=total, idle=idle)
    if not calls or (nodes or 1) < 2:
        return
    text = "\n".join(look.source.lines)
    launch = calls[0][0]
    required = look.machine.scripts.mpi_options if look.machine else ""
    if (
        required
        and required.lstrip("$") not in text
        and not re.search(r"machinefile|hostfile|--?host\b|_MPIOPTS\b", text)
    ):
        better = launch.raw.replace(_program(launch)[0], f"{_program(launch)[0]} {required}", 1)
        look.add("mpi-options-missing", launch.line, better, better=required)


def _count(words: tuple[str, ...]) -> int | None:
    """Return N of `-np N` if it is a number; several programs (`:`) have several."""
    return None if ":" in words else _number_behind(words, _RANKS)


def _number_behind(words: tuple[str, ...], options: tuple[str, ...]) -> int | None:
    """Return the number after the first of these options, before the program's own words."""
    for at, word in enumerate(words[:-1]):
        value = words[at + 1]
        if word in options:
            return digits(value, 7)
        if _FILE.match(word) or re.match(r"(?:\S*/)?python[\d.]*\Z", word):
            return None
    return None


def _others(look: ScriptLook, commands: tuple[Command, ...]) -> None:
    language, site = look.language, look.machine.name if look.machine else ""
    ssh_option = look.machine.scripts.ssh_option if look.machine else ""
    asks = any(re.search(r"\b(?:which|command -v|type|hash)\b", command.raw) for command in commands)
    offline = look.has_rule("no-internet") or (look.cluster is not None and look.cluster.internet_on_nodes is False)
    for command in commands:
        program, words = _program(command)
        name = program.rpartition("/")[2]
        if (
            program == "exit"
            and words
            and re.fullmatch(r"[0-9]{1,9}", words[0])
            and int(words[0]) in language.exit_codes
        ):
            meaning = _(language.exit_codes[int(words[0])])
            better = re.sub(rf"\bexit\s+{words[0]}\b", "exit 1", command.raw)
            look.add("exit-code", command.line, better, code=words[0], what=meaning)
        for pattern, rule in language.commands.items():
            if re.match(pattern, name + " " + " ".join(words)) and not asks and not look.told(command.line, rule):
                look.add(rule, command.line, command=name)
        if offline and downloads(name, words, command.raw):
            look.add("no-internet", command.line, command=name, site=site)
        if dot := _NOT_SOURCED.match(program):
            better = command.raw.replace("./", ". " if program.startswith("./etc") else ". ./", 1)
            look.add("not-sourced", command.line, better, command=dot.string)
        if look.has_rule("activate-without-hook") and name in ("source", ".") and words[:1] == ("activate",):
            look.add("activate-without-hook", command.line)
        if ssh_option and name in ("ssh", "pdsh", "scp") and ssh_option.split()[-1] not in "\n".join(look.source.lines):
            look.add("ssh-flag", command.line, f"{language.prefix} {ssh_option}", option=ssh_option)
        runs = name in ("singularity", "apptainer") and set(words[:2]) & {"exec", "run", "shell"}
        flagged = any(setting.value == "singularity" for setting in look.settings)
        reported = any(finding.rule == "container-flag" for finding in look.findings)
        if look.has_rule("container-flag") and runs and not flagged and not reported:
            look.add("container-flag", command.line, site=site)


def downloads(name: str, words: tuple[str, ...], raw: str) -> bool:
    """Return whether a command downloads from the Internet."""
    if not _DOWNLOADS.match(name) or _LOCAL.search(raw):
        return False
    if name in ("wget", "curl"):
        return True
    needed = {"git": {"clone", "pull", "fetch"}, "huggingface-cli": {"download"}}.get(name, {"install"})
    if not set(words[:2]) & needed:
        return False
    return name == "git" or not any(word in ("-e", ".", "--editable") or word.startswith(("./", "/")) for word in words)


def _code(look: ScriptLook) -> Iterator[tuple[int, str]]:
    """Yield the lines of code that are not too long, without comments."""
    for number, line in enumerate(look.source.lines, 1):
        if len(line) <= LONGEST and number not in look.shell.documents and not line.lstrip().startswith("#"):
            yield number, re.sub(r"(?:^|\s)#.*", "", line)


def _variables(look: ScriptLook) -> None:
    """Report variables of another scheduler, and forbidden uses of variables."""
    language = look.language
    code = list(_code(look))
    for other in look.languages:
        if other.name == language.name or not other.variables or other.prefix == language.prefix:
            continue
        for number, line in code:
            match = re.search(rf"\$\{{?({other.variables})\b(?!:?[-+?=])", line)
            if not match or re.fullmatch(language.variables, match[1]):
                continue
            name = match[1]
            tested = re.compile(rf"\$\{{{name}:?[-+?=]|-[nzv]\s+\"?\$?\{{?{name}|\b{name}=|{name}.*\]|\bif\b.*{name}")
            doubt = any(name in line and tested.search(line) for _, line in code)
            if not doubt and not any(finding.rule == "foreign-variable" for finding in look.findings):
                look.add("foreign-variable", number, variable=name, other=other.title)
    if name := language.colon_id:
        for number, line in code:
            if re.search(rf"(?:/[\w./$\{{\}}-]*|[\w.-]+[_-])\$(?:{name}\b|\{{{name}\}})", line):
                look.add("id-with-colon", number, variable=name)
                break
    scratch = look.machine.scripts.scratch if look.machine else ""
    if look.machine and scratch:
        for number, line in code:
            if re.search(r"(?<![\w$}-])/tmp(?:/|\b)", line):
                better = re.sub(r"(?<![\w$}-])/tmp(?=/|\b)", lambda __: scratch, line)
                look.add("tmp-forbidden", number, better, site=look.machine.name, scratch=scratch)
                break
    if look.request.gpus and (not look.cluster or look.cluster.node.gpus != look.request.gpus):
        for number, line in code:
            match = re.search(r"\bCUDA_VISIBLE_DEVICES=[\"']?(\d+(?:,\d+)*)", line)
            if match and (
                len(match[1].split(",")) > look.request.gpus or max(map(int, match[1].split(","))) >= look.request.gpus
            ):
                look.add("devices-set", number, value=match[1], gpus=look.request.gpus)
                break


def check_shell(look: ScriptLook) -> None:
    """Report syntax that only bash understands when the first line names sh."""
    if look.shell.name != "sh" or (look.language.shell_option and look.setting(look.language.shell_option)):
        return
    for number, line in _code(look):
        plain = re.sub(r"\"[^\"]*\"|'[^']*'", "", line)
        match = None if number in look.shell.outside else _BASH_ONLY.search(plain)
        if match:
            look.add("not-in-sh", number, what=match[0].strip())
            return


def check_output(look: ScriptLook) -> None:
    """Report an output folder that the script itself creates, which is too late."""
    folders: set[str] = set()
    elsewhere = False
    for command in look.shell.commands:
        program, words = _program(command)
        # behind `cd` a relative name is another folder
        elsewhere |= _GOES.match(program) is not None and look.language.submit_folder not in "".join(words)
        if program == "mkdir":
            folders |= {
                word.rstrip("/") for word in words if not word.startswith("-") and (word[0] == "/" or not elsewhere)
            }
    for setting in look.settings:
        is_output = setting.key in ("--output", "--error", "-o", "-e") and look.language.reading.opens_output
        folder = setting.value.rpartition("/")[0].removeprefix("./")
        if is_output and folder and folder in {name.removeprefix("./") for name in folders}:
            look.add("folder-too-late", setting.line, folder=folder)
        elif is_output and look.folder is not None and not look.told(setting.line, "output-tilde", "output-folder"):
            _output_on_disk(look, setting, look.folder)


def _output_on_disk(look: ScriptLook, setting: Setting, base: Path) -> None:
    """Report a path of the output that does not fit the folders that are there."""
    path = setting.value
    if (
        not re.fullmatch(r"[\w./+-]+(?:%[\w./%+-]*)?", path)
        or path.startswith("/")
        or any(look.setting(key) for key in ("--chdir", "-wd"))
    ):
        return
    folder = path.partition("%")[0].rpartition("/")[0]
    bases = {base, Path.cwd()}
    if "%" not in path and any((root / path).is_dir() for root in bases):
        stem = f"{path}/{look.language.output_name}"
        better = look.line(setting.line).replace(path, stem, 1)
        look.add("output-folder", setting.line, better if look.language.output_name else None, path=path)
    elif folder and not any((root / folder).is_dir() for root in bases):
        look.add("output-folder-missing", setting.line, path=folder)
