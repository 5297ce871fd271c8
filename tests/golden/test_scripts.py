"""The whole job script of every cluster × launcher × recipe, compared with reviewed parts (support/golden.py).

After a wanted change: `HACKATHON_GOLDEN=write pytest tests/golden`, then review the difference in git.
"""

import contextlib
import difflib
import itertools
import os
import re
import shlex
import shutil
import socket
import subprocess
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hackathon.config.cluster
from hackathon.config import load
from hackathon.config.cluster import ALL_LAUNCHERS, PLAIN_LAUNCHERS, Starter
from hackathon.jobs.binding import BINDING_LAUNCHERS
from hackathon.jobs.check import CheckError, check
from hackathon.jobs.render import JobScript, render
from hackathon.jobs.request import Options, Request
from hackathon.jobs.resolve import Sources, resolve
from hackathon.programs.scripts.lint import lint
from hackathon.programs.scripts.source import script_text
from hackathon.schedulers import registry
from support.golden import TABLE, VALUES, Case, Rendered, Reviewed, files_of, read_files, reviewed, write_files

RECIPES = [recipe.name for recipe in load.list_recipes([])[0]]
CLUSTERS = [cluster.name for cluster in registry.list_clusters([])[0]]
CASES = [Case(recipe, cluster, launcher) for recipe in RECIPES for cluster in CLUSTERS for launcher in ALL_LAUNCHERS]


@pytest.fixture(autouse=True)
def fixed_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` must not make the files depend on the machine that runs the test."""
    monkeypatch.setattr(hackathon.config.cluster, "cores_here", lambda: 4)
    monkeypatch.setattr(hackathon.config.cluster, "gpus_here", lambda: 0)


# each test has an empty cache of its own: what does not change is read once
_recipe = cache(lambda name: load.load_recipe(name, []))
_cluster = cache(lambda name: registry.load_cluster(name, []))


@cache
def _rendered(case: Case) -> tuple[Request, JobScript]:
    recipe, folder = _recipe(case.recipe)
    cluster = _cluster(case.cluster)
    nodes = 1 if cluster.starter == "local" or case.launcher == "local" else 2
    group = "pz0425" if registry.known_dialect(cluster).wants_group else None
    options = Options(nodes=nodes, launcher=case.launcher, group=group)
    sources = Sources(cluster=cluster, options=options, recipe=recipe, folder=folder)
    request = resolve(sources)
    check(request, cluster, recipe)
    return request, render(request, cluster)


def _script(recipe: str, cluster: str, launcher: str) -> JobScript:
    return _rendered(Case(recipe, cluster, launcher))[1]


def _supported(case: Case) -> bool:
    recipe, _ = _recipe(case.recipe)
    cluster = _cluster(case.cluster)
    return case.launcher in (recipe.launchers or PLAIN_LAUNCHERS) and case.launcher in (
        cluster.launchers or ALL_LAUNCHERS
    )


def _named(case: Case) -> Rendered:
    """Return a case's script and the names of its parts, by what the parts depend on."""
    request, script = _rendered(case)
    start = f"{request.scheduler}-{request.starter}-{request.launcher}"
    return Rendered(
        script.job,
        script.library,
        (case.cluster, f"{case.cluster}-{case.launcher}", str(case)),
        (f"{request.scheduler}-{request.launcher}", start, f"{start}-{case.cluster}", str(case)),
        (start, f"{start}-{request.mpi}", f"{start}-{case.cluster}", str(case)),
    )


def _files() -> dict[str, str]:
    """Return the files of all scripts as they are rendered now."""
    cases = [case for case in CASES if _supported(case)]
    return files_of({case: _named(case) for case in cases}) | {"rank.sh": _rendered(cases[0])[1].rank}


@cache
def _reviewed() -> Reviewed:
    if os.environ.get("HACKATHON_GOLDEN") == "write":
        write_files(_files())
    return reviewed()


def _difference(before: str, after: str) -> str:
    """Return the lines that differ, each with a line around it; "" if none does."""
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), "reviewed", "rendered", lineterm="", n=1)
    return "\n".join("@@" if line.startswith("@@ ") else line for line in lines)


def _problem(case: Case) -> str:
    """Return what is wrong with a case's script or refusal; "" if all is as reviewed."""
    supported = _supported(case)
    try:
        script = _rendered(case)[1]
    except CheckError as error:
        if supported:
            return f"is refused: {error.message}"
        return "" if case.launcher in error.message else f"the refusal does not name the launcher: {error.message}"
    if not supported:
        return "is not refused"
    if case not in _reviewed().parts:
        return f"is not in {TABLE}"
    reviewed_scripts = (_reviewed().script(case), _reviewed().library(case), _reviewed().rank)
    differences = map(_difference, reviewed_scripts, (script.job, script.library, script.rank))
    return "\n".join(filter(None, differences))


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_scripts_are_as_reviewed(cluster: str) -> None:
    """A launcher that a recipe or a cluster does not have is refused by its name."""
    problems: dict[str, list[str]] = defaultdict(list)
    for case in CASES:
        if case.cluster == cluster and (problem := _problem(case)):
            problems[problem].append(str(case))
    texts = [f"{', '.join(cases)}:\n{problem}" for problem, cases in problems.items()]
    if texts:
        pytest.fail("\n\n".join(texts), pytrace=False)


def test_nothing_is_left_over() -> None:
    _reviewed()
    files, rendered = read_files(), _files()
    assert (sorted(set(files) - set(rendered)), sorted(set(rendered) - set(files))) == ([], [])
    for name in (TABLE, VALUES):
        if difference := _difference(files[name], rendered[name]):
            pytest.fail(f"{name}:\n{difference}", pytrace=False)


@given(
    st.dictionaries(
        st.builds(Case, st.sampled_from("rs"), st.sampled_from("cd"), st.sampled_from("lm")),
        st.tuples(
            *[st.sampled_from([None, "1", "('a b' c)", "'two\n\nlines'"])] * 3, st.sampled_from(["", "x", "y\n"])
        ),
        min_size=1,
    )
)
def test_any_scripts_are_put_together_again(cases: dict[Case, tuple[str | None, ...]]) -> None:
    """Whatever decides a value, and whether a script has it."""
    rendered = {}
    for case, (*values, line) in cases.items():
        assignments = "".join(f"HK_{name}={value}\n" for name, value in zip("ABC", values, strict=True) if value)
        mark = "# Values of all\n# shellcheck disable=SC2034\n"
        script = f"#!/bin/bash\n{line}\n{mark}HK_NAME=x\n{assignments}\n# next\n{line}"
        names = [(part, str(case)) for part in ("header", "body", "library")]
        rendered[case] = Rendered(script, f"f() {{ {line}; }}", *names)
    reviewed = Reviewed(files_of(rendered))
    assert {case: reviewed.script(case) for case in reviewed.parts} == {case: rendered[case].script for case in cases}
    assert {case: reviewed.library(case) for case in cases} == {case: rendered[case].library for case in cases}
    assert {reviewed.parts[case][:2] for case in reviewed.of_each_pair()} == {
        parts[:2] for parts in reviewed.parts.values()
    }
    assert set(reviewed.of_each_body()) == {parts.body for parts in reviewed.parts.values()}


def test_files_that_nothing_uses_any_more_are_deleted(tmp_path: Path) -> None:
    write_files({"headers/a.sh": "a", "headers/b.sh": "b", TABLE: ""}, tmp_path)
    write_files({"headers/b.sh": "c", TABLE: ""}, tmp_path)
    assert read_files(tmp_path) == {"headers/b.sh": "c", TABLE: ""}


def test_a_script_without_its_values_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="r-c-l has no block of values"):
        files_of({Case("r", "c", "l"): Rendered("#!/bin/bash\n", "", ("h",), ("b",), ("l",))})


def test_bash_reads_them() -> None:
    scripts = _reviewed().of_each_body() | _reviewed().libraries() | {"rank.sh": _reviewed().rank}
    answers = {
        name: subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
        for name, script in scripts.items()
    }
    assert {name: answer.stderr for name, answer in answers.items() if answer.returncode != 0} == {}


def test_our_own_lint_finds_nothing() -> None:
    """One script of each cluster, read as a script of that cluster."""
    by_cluster = {case.cluster: case for case in _reviewed().parts}
    findings = {
        name: [f"{finding.line}: {finding.message}" for finding in lint(text, cluster=cluster).findings]
        for name, case in by_cluster.items()
        if registry.script_language((cluster := _cluster(name)).scheduler) is not None
        for text in [script_text(_reviewed().script(case).encode(), name)]
    }
    assert {name: lines for name, lines in findings.items() if lines} == {}
    assert {"lumi-g", "polaris", "genkai", "pegasus", "tsubame4"} <= set(findings)


def with_all_lines(scripts: dict[str, str]) -> dict[str, str]:
    """Return scripts in which each line of all scripts stands between the same neighbours, as few as are soon found."""
    lines = {name: text.splitlines() for name, text in scripts.items()}
    missing = {name: set(itertools.pairwise(each)) for name, each in lines.items()}
    chosen = {}
    while any(missing.values()):
        name = max(missing, key=lambda name: len(missing[name]))
        chosen[name], covered = scripts[name], missing[name]
        missing = {other: pairs - covered for other, pairs in missing.items()}
    return chosen


@pytest.mark.slow
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    """Each line of a body or library is read once between its neighbours, and all values once more as one script."""
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    # SC2054: a variable's value may be a list with commas
    values = ["#!/bin/bash", "# shellcheck disable=SC2034,SC2054", "{", *_reviewed().assignments(), "}"]
    assert sum(line.startswith("HK_NAME=") for line in values) == len(RECIPES)
    scripts = with_all_lines(_reviewed().of_each_body()) | with_all_lines(_reviewed().libraries())
    scripts |= {"rank.sh": _reviewed().rank, "values.sh": "\n".join([*values, ""])}
    write_files(scripts, tmp_path)
    command = ["shellcheck", "--severity=warning", "--format=gcc", *scripts]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout


@pytest.mark.slow
@pytest.mark.parametrize("starter", sorted(set(Starter.__args__) - {_cluster(name).starter for name in CLUSTERS}))  # type: ignore[attr-defined]
def test_shellcheck_finds_nothing_in_starters_that_no_profile_has(starter: str, tmp_path: Path) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    recipe, folder = _recipe("torch-ddp")
    cluster = replace(_cluster("slurm"), starter=starter)
    options = Options(nodes=2, launcher="torchrun")
    request = resolve(Sources(cluster=cluster, options=options, recipe=recipe, folder=folder))
    path = tmp_path / "hackathon.sh"
    path.write_text(render(request, cluster).library)
    assert f"# starter: {starter} " in path.read_text()
    command = ["shellcheck", "--severity=warning", "--format=gcc", path]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout


def test_no_date_and_no_run_id() -> None:
    wrong = re.compile(r"hk-|\b20[2-3][0-9]-?[01][0-9]-?[0-3][0-9]\b")
    _reviewed()
    assert [name for name, text in read_files().items() if name != "libraries.tsv" and wrong.search(text)] == []


def test_reedbush_header_is_what_its_users_wrote() -> None:
    script = _script("torch-ddp", "reedbush-h", "mpirun").job
    header = [line for line in script.splitlines() if line.startswith("#PBS")]
    assert "#PBS -q h-debug" in header
    assert any(line.startswith("#PBS -l select=2:mpiprocs=2:ompthreads=") for line in header)
    assert "#PBS -W group_list=pz0425" in header
    assert not any("ngpus" in line or "ncpus" in line or "place" in line for line in header)


def test_reedbush_script_carries_what_chainermn_users_needed() -> None:
    script = _script("chainermn-mnist", "reedbush-h", "mpirun").job
    arrays = re.findall(r"^(HK_ENVIRONMENT|HK_VARIABLES|HK_MPI_OPTIONS)=\((.*?)\)$", script, re.DOTALL | re.MULTILINE)
    values = {name: shlex.split(text) for name, text in arrays}
    assert values["HK_MPI_OPTIONS"] == ["-x", "PYTHONUSERBASE"]
    assert {"HOME=/lustre/$GROUP/$USER", "PYTHONUSERBASE=/lustre/$GROUP/$USER/.python"} <= set(values["HK_VARIABLES"])
    assert ". /etc/profile.d/modules.sh" in values["HK_ENVIRONMENT"] and "unset PIP_ROOT" in values["HK_ENVIRONMENT"]


@pytest.mark.parametrize("part", ["g", "c"])
def test_miyabi_header_is_what_its_users_wrote(part: str) -> None:
    header = [line for line in _script("torch-ddp", f"miyabi-{part}", "mpirun").job.splitlines() if "#PBS" in line]
    ranks, threads = (1, 72) if part == "g" else (2, 56)
    assert header == [
        f"#PBS -q debug-{part}", f"#PBS -l select=2:mpiprocs={ranks}:ompthreads={threads}", "#PBS -l walltime=00:10:00",
        "#PBS -W group_list=pz0425", "#PBS -j oe",
    ]  # fmt: skip


def test_abci_names_its_group_as_project() -> None:
    header = [line for line in _script("torch-ddp", "abci3", "mpirun").job.splitlines() if line.startswith("#PBS")]
    assert "#PBS -P pz0425" in header
    assert not any("group_list" in line for line in header)


@pytest.mark.parametrize(
    ("found", "run"),
    [
        ("/bin/mpirun", f"{Path('/bin').resolve()}/mpirun" if Path("/bin").is_symlink() else "mpirun"),
        ("/etc/mpirun", "mpirun"),  # a folder that is no link: found again on PATH, without a prefix
        ("/usr/bin/mpirun", "/usr/bin/mpirun"),
        ("/opt/open mpi/bin/mpirun", "/opt/open mpi/bin/mpirun"),
        ("", "mpirun"),
    ],
)
def test_mpirun_gets_no_prefix_of_slashes(found: str, run: str) -> None:
    """Open MPI makes the prefix of the folder above its own; `/` ends every job: "only contained slashes"."""
    script = _script("torch-ddp", "reedbush-h", "mpirun").library
    function = script[script.index("hk_mpirun_path()") :]
    function = function[: function.index("\n}\n") + 3]
    fake = f"command() {{ {f'echo {shlex.quote(found)}' if found else 'false'}; }}\n"
    answer = subprocess.run(["bash", "-euc", fake + function + "hk_mpirun_path"], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout.strip()) == (0, run), answer.stderr


@pytest.mark.parametrize(
    ("job_id", "port"),
    [("2", 20002), ("008", 20008), ("31999", 21999), ("1234567[].pbs", 24567), ("98765432109", 22109)],
)
def test_jobs_of_one_node_meet_at_ports_of_their_own(job_id: str, port: int) -> None:
    assert _master_port(job_id) == port


def test_a_port_that_somebody_listens_on_is_left_alone() -> None:
    with contextlib.ExitStack() as stack:
        for taken in range(21000, 22000):
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_server(("127.0.0.1", taken)))
                break
        port = _master_port(str(taken - 20000))
        assert port != taken
        stack.enter_context(socket.create_server(("127.0.0.1", port)))


@pytest.mark.parametrize(("count", "said"), [(1, "1 process"), (0, "0 processes"), (12, "12 processes")])
def test_a_job_counts_in_plain_english(count: int, said: str) -> None:
    script = _script("torch-ddp", "slurm", "srun").library
    (counted,) = re.findall(r"^hk_counted\(\) .*?^}$", script, re.DOTALL | re.MULTILINE)
    text = f"{counted}\nhk_counted {count} process processes"
    assert subprocess.run(["bash", "-euc", text], capture_output=True, text=True, check=True).stdout == said
    assert "(s)" not in script and "(es)" not in script


def _master_port(job_id: str) -> int:
    (function,) = re.findall(
        r"^hk_hosts\(\) .*?^}$", _script("torch-ddp", "slurm", "srun").library, re.DOTALL | re.MULTILINE
    )
    settings = [f"HK_JOB_ID={shlex.quote(job_id)}", "HK_RUN=/x HK_ATTEMPT=1 HK_DEADLINE=2 HK_NODES=1"]
    text = "\n".join([*settings, "hk_hosts_of_job() { HK_HOSTS=(here); }", function, "hk_hosts", 'echo "$MASTER_PORT"'])
    return int(subprocess.run(["bash", "-euc", text], capture_output=True, text=True, check=True).stdout)


def test_a_person_can_read_every_job_script() -> None:
    """At most 90 lines, comments of two lines, and no function but the launch."""
    lengths = {case: len(_reviewed().script(case).splitlines()) for case in _reviewed().parts}
    longest = max(lengths, key=lengths.__getitem__)
    assert lengths[longest] <= 90, longest
    for script in _reviewed().of_each_body().values():
        comments = re.findall(r"(?:^# .*\n)+", script[script.index("# Values") :], re.MULTILINE)
        assert max(comment.count("\n") for comment in comments) <= 2
        assert re.findall(r"^(\w+)\(\)", script, re.MULTILINE) == ["hk_launch"] and "trap " not in script


def test_a_script_with_everything_that_can_be_asked_for_is_no_longer() -> None:
    """A folder of `render --to`, a binding, several GPUs for each process, and a group."""
    for case in _reviewed().of_each_pair():
        request = replace(_rendered(case)[0], gpus_per_process=2, group="gx00")
        if case.launcher in BINDING_LAUNCHERS:
            request = replace(request, binding="numa")
        script = render(request, _cluster(case.cluster), handed_on=Path("/lustre/project")).job
        assert len(script.splitlines()) <= 90, case
