"""Schedulers own their words: nobody else in the toolkit names one.

The rule. A scheduler's word is its name, a command of it, or the beginning of its variables and directives. Such words
stand in `hackathon/schedulers/`, in the shipped profiles (`templates/clusters/`), in texts for people, and nowhere
else in code or in job templates. Docstrings and comments may name them. Not a scheduler's word:

- launchers and starters (`srun`, `pbs_tmrsh`): they are names of their own, with templates of their own, which speak to
  their own program; a scheduler only says that it has one (`Dialect.has_launcher`). `local` is one of them too;
- the variables by which a launcher tells a rank who it is (`rank.sh.j2`, `hackathon/runtime`, which imports nothing);
- rules for failures (`templates/rules`): they quote what programs print.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from hackathon.config.cluster import ALL_LAUNCHERS, Starter
from support import sources
from support.paths import ROOT, TESTS
from support.translations import texts

WORDS = re.compile(
    r"(?<![A-Za-z])(?:open)?(?:pbs|slurm(?:ctld|dbd|stepd|d)?|sbatch|squeue|sacct|scancel|sinfo|salloc|scontrol"
    r"|qsub|qstat|qdel|qselect|qalter|qhold|sge|gridengine|pjm|pjsub|pjstat|nqsv|kubectl|kubernetes|lsf|bsub)(?![a-z])",
    re.IGNORECASE,
)
OWN = ("hackathon/schedulers/", "hackathon/runtime/")
NAMES = re.compile(r"(?<![\w-])(?:srun|pbs_tmrsh)(?![\w-])")
"""Launchers and starters that look like a scheduler's words."""
LAUNCHER_TEMPLATES = ("launch-", "start-", "srun.sh", "rank.sh")


def strings_and_names(text: str, nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of all code of a module: names and string constants, but neither comments nor docstrings."""
    nodes = tuple(nodes)
    documented = {
        node.value.lineno
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    spoken = {
        (line, column)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in said()
        for line, column in [(node.lineno, node.col_offset)]
    }
    inside = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and token.start[0] in documented:
            continue
        # a text in several pieces: the first one is where it begins
        column = len(token.line[: token.start[1]].encode())
        begins = token.type == tokenize.STRING and (token.start[0], column) in spoken
        inside = begins or (inside and token.type in (tokenize.STRING, tokenize.NL, tokenize.COMMENT))
        if inside:
            continue
        if token.type in (tokenize.STRING, tokenize.NAME):
            yield token.start[0], token.string


@cache
def said() -> frozenset[str]:
    """Return the texts that people read."""
    return frozenset(form for text in texts() for form in (text.english, text.many))


def offences(path: Path, text: str, nodes: Iterable[ast.AST]) -> list[str]:
    """Return `file:line: word` of every scheduler's word in a module's code."""
    return [
        f"{path}:{line}: {match[0]}"
        for line, part in strings_and_names(text, nodes)
        for match in WORDS.finditer(NAMES.sub("", part))
    ]


def asked_by_name(path: Path, nodes: Iterable[ast.AST]) -> list[str]:
    """Return the places where a scheduler is compared with a name: what differs is a hook's business."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asks = any(isinstance(side, ast.Attribute) and side.attr == "scheduler" for side in sides)
            constants = [side for side in ast.walk(node) if isinstance(side, ast.Constant) and side.value]
            if asks and any(isinstance(side.value, str) for side in constants):
                found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    return found


def modules() -> Iterator[tuple[Path, Path]]:
    """Yield (path in the checkout, path) of the modules that may not name a scheduler."""
    for path in sources.modules():
        name = path.relative_to(ROOT)
        if not str(name).startswith(OWN):
            yield name, path


def nodes_of(code: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(code)))


def test_no_module_names_a_scheduler() -> None:
    found = [line for name, path in modules() for line in offences(name, sources.text(path), sources.nodes(path))]
    assert not found, "\n".join(found)


def test_nobody_asks_for_a_scheduler_by_its_name() -> None:
    found = [line for name, path in modules() for line in asked_by_name(name, sources.nodes(path))]
    assert not found, "\n".join(found)


def test_no_template_but_those_of_launchers_names_a_scheduler() -> None:
    found = []
    for path in sorted((ROOT / "templates" / "jobs").glob("*.j2")):
        if path.name.startswith(LAUNCHER_TEMPLATES):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = re.sub(r"(?:^|\s)#.*|<#.*?#>", "", line)
            found += [f"{path.name}:{number}: {match[0]}" for match in WORDS.finditer(NAMES.sub("", code))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        'if cluster.scheduler == "pbs": pass', 'x = shutil.which("sbatch")', 'x = f"slurm-{number}.out"',
        'x = {"SLURM_JOB_ID": 1}', "def qsub(): pass", 'x = re.compile("slurm|mpi")', 'x = "PBS_O_WORKDIR"',
    ],
)  # fmt: skip
def test_offenders_are_found(line: str) -> None:
    assert offences(Path("x.py"), line, nodes_of(line))


@pytest.mark.parametrize(
    "line", ['"""About Slurm."""', "x = 1  # qsub", 'x = ("srun", "pbs_tmrsh")', 'x = "jobs"', 'x = "splurming"']
)
def test_what_is_allowed_is_left_alone(line: str) -> None:
    assert not offences(Path("x.py"), line, nodes_of(line))


def test_comparisons_with_a_name_are_found() -> None:
    assert asked_by_name(Path("x.py"), nodes_of('a = request.scheduler == "local"'))
    assert asked_by_name(Path("x.py"), nodes_of('a = cluster.scheduler in ("local", "kumo")'))
    fine = 'a = old.scheduler == new.scheduler or old.scheduler != ""'
    assert not asked_by_name(Path("x.py"), nodes_of(fine))


def test_names_that_look_like_a_schedulers_are_launchers_and_starters() -> None:
    known = {*ALL_LAUNCHERS, *Starter.__args__}  # type: ignore[attr-defined]
    assert {"srun", "pbs_tmrsh"} <= known
    assert [name for name in known if WORDS.search(NAMES.sub("", name))] == []


def test_a_strangers_scheduler_is_short() -> None:
    """Commands, parser, dialect and templates: what it takes to add one. The suite of back-ends runs it."""
    files = [
        path for path in (TESTS / "support" / "kumo" / "plug_in").rglob("*") if path.suffix in (".py", ".j2", ".toml")
    ]
    assert {"commands.py", "dialect.py", "header.sh.j2", "identity.sh.j2"} <= {path.name for path in files}
    assert sum(len(path.read_text().splitlines()) for path in files) < 150
