"""Templates of others: no code of theirs runs, each has an end, and compiled ones are loaded from nobody else."""

import ast
import io
import marshal
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2.bccache import bc_magic

from hackathon.access.ownership import Trusted
from hackathon.config.cluster import Cluster, Node
from hackathon.config.trust import ForeignError
from hackathon.jobs.render import render
from hackathon.jobs.request import Options, Request
from hackathon.jobs.sources import find_sources
from hackathon.text.errors import RequestError
from hackathon.text.paths import user_cache
from support.accounts import public_folder
from support.paths import ROOT

__all__ = ["public_folder"]
CLUSTER = Cluster(name="test", scheduler="pbs", node=Node(), dialect={"group": "group_list"})
REQUEST = Request(
    name="digits", recipe=None, framework="torch", cluster="test", scheduler="pbs", queue="debug", group="gx00",
    reservation=None, nodes=2, processes=4, processes_per_node=2, threads=1, gpus_per_node=2, walltime=600,
    launcher="torchrun", starter="mpirun", mpi="openmpi", command=("python", "train.py"), directives=("-v A=1",) * 40,
)  # fmt: skip


def own(folder: Path, **texts: str) -> Path:
    """Write a team's templates; `job` is `job.sh.j2`."""
    (folder / "jobs").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / "jobs" / f"{name}.sh.j2").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("{% if cycler.__init__.__globals__.os.system('touch MARK') %}{% endif %}", "("),
        ("{% if cycler.__init__.__globals__.os.environ %}{% endif %}", "environ"),
        ("{% for a in ().__class__.__base__.__subclasses__() %}{% endfor %}", "for"),
        ("{% set a = directive.keys() %}", "("), ("{% set a = directive['x'] %}", "["),
        ("{% set a = directive.__class__ %}", "__class__"), ("{% set a = directive.x.y %}", ".y"),
        ("{% set a = directive %}", "directive"), ("{% if 'a'.upper %}{% endif %}", ".upper"),
        ("{% if launcher|attr('__class__') %}{% endif %}", "|attr"), ("{% if launcher is defined %}{% endif %}", "is"),
        ("{% set a = 9 ** 9 ** 9 %}", "**"), ("{% set a = 'x' * 99999999 %}", "*"),
        ("{% set ns = namespace() %}", "("), ("{% set a %}x{% endset %}", "set"), ("{% if super() %}{% endif %}", "("),
        ("{% include launcher.x %}", ".x"), ("{% include directive.queue %}", ".queue"),
        ("{% if self %}{% endif %}", "self"),
        ("{% for a in (1, 2) %}x{% endfor %}", "for"), ("{% set a = 'x' ~ assignments %}", "assignments"),
        ("{% set a = 'x' %}{% set a = a ~ a %}", "a"), ("{% set mpi = mpi ~ mpi %}", "mpi"),
        ("{% import 'shipped/job.sh.j2' as j %}", "import"), ("{{ self._TemplateReference__context }}", ""),
        ("{% autoescape true %}x{% endautoescape %}", "autoescape"), ("{% set a = [1] %}", "["),
    ],
)  # fmt: skip
def test_what_is_not_on_the_list_is_refused_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = own(tmp_path, job='{% extends "shipped/job.sh.j2" %}\n{% block prologue %}\n' + body + "{% endblock %}\n")
    with pytest.raises(RequestError) as refused:
        render(REQUEST, CLUSTER, [folder])
    assert f"{tmp_path / 'jobs' / 'job.sh.j2'}:3" in refused.value.message and what in refused.value.message
    assert "assignments" in f"{refused.value.message} {refused.value.hint}" or "redefine" in refused.value.message
    assert not (tmp_path / "MARK").exists()


def test_what_the_list_has_works(tmp_path: Path) -> None:
    folder = own(
        tmp_path,
        job='{% extends "shipped/job.sh.j2" %}\n{% block prologue %}\n'
        '{% set wide = directive.nodes > 1 and not mpi == "x" %}'
        '{% if wide and launcher in ("torchrun", "srun") %}\n# wide\n'
        '{% elif starter ~ "-" ~ mpi == "a-b" %}\n# odd\n{% else %}\n# narrow\n{% endif %}\n'
        '{% for option in directive.options %}\n# {{ option }}\n{% endfor %}\n'
        '# {{ directive.items }}|{{ directive.nothing }}\n{{ super() }}\n{% endblock %}\n',
    )  # fmt: skip
    script = render(REQUEST, CLUSTER, [folder]).job
    assert "# wide\n" in script and script.count("# -v A=1\n") == 40 and "# odd" not in script and "# |\n" in script


@pytest.mark.parametrize(
    "texts",
    [
        {"job": '{% include "job.sh.j2" %}{% include "job.sh.j2" %}'},
        {"job": '{% extends "job.sh.j2" %}'},
        {"job": "{% for a in directive.options %}" * 4 + "x" + "{% endfor %}" * 4},
        {"job": "{% for a in directive.options %}{% for b in directive.options %}" + "x" * 60_000 + "{% endfor %}" * 2},
        {"job": "{% if " + "(" * 5000 + "1" + ")" * 5000 + " %}{% endif %}"},
        {"job": "{% if launcher %}" * 3000 + "{% endif %}" * 3000},
        {"job": "{% for a in directive.options %}" * 60 + "{% endfor %}" * 60},
        {"job": "{% if " + "9" * 5000 + " %}{% endif %}"}, {"job": "x" * 70_000},
        {"job": "{% if 1 < launcher %}{% endif %}"}, {"job": "{% for a in directive.nodes %}{% endfor %}"},
        {"job": "{% for a, b in directive.options %}{% endfor %}"},
        {
            **{f"l{depth}": '{% extends "l' + str(depth + 1) + '.sh.j2" %}{% block b %}' + "{{ super() }}" * 2
               + "{% endblock %}" for depth in range(40)},
            "l40": "{% block b %}{% endblock %}", "job": '{% extends "l0.sh.j2" %}',
        },
    ],
    ids=["includes", "extends", "loops", "long", "brackets", "ifs", "fors", "digits", "large", "types", "number",
         "pairs", "supers"],
)  # fmt: skip
def test_a_template_that_would_not_end_is_ended(tmp_path: Path, texts: dict[str, str]) -> None:
    began = time.process_time()
    with pytest.raises(RequestError) as refused:
        render(REQUEST, CLUSTER, [own(tmp_path, **texts)])
    assert "sh.j2" in refused.value.message
    assert time.process_time() - began < 20


def test_a_pipe_in_the_place_of_a_template_does_not_wait(tmp_path: Path) -> None:
    os.mkfifo(own(tmp_path) / "jobs" / "job.sh.j2")
    assert render(REQUEST, CLUSTER, [tmp_path]) == render(REQUEST, CLUSTER)


# ---- whose file is read ----
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other accounts")
@pytest.mark.parametrize("swapped", ["job", "part", "base", "rank"])
def test_a_template_that_is_swapped_after_gathering_is_refused(
    public_folder: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    monkeypatch.setenv("HOME", str(public_folder / "home"))
    project = public_folder / "project"
    texts = {
        "job": '{% extends "base.sh.j2" %}{% block a %}# job{% include "part.sh.j2" %}{% endblock %}', "part": "# part",
        "base": "{% block a %}{% endblock %}\n# base", "rank": "# rank",
    }  # fmt: skip
    path = own(project / "templates", **texts) / "jobs" / f"{swapped}.sh.j2"
    (project / "project.yaml").write_text("name: p\ncommand: 'true'\ncluster: laptop\n")
    gathered = find_sources(None, Options(), project)
    assert list(gathered.template_folders) == [project / "templates"]
    good = render(REQUEST, CLUSTER, gathered.template_folders)
    assert [word for word in texts if f"# {word}" in good.job + good.rank] == list(texts)

    def refused(folders: Mapping[Path, Trusted | None]) -> str:
        try:
            return "" if render(REQUEST, CLUSTER, folders) == good else "another script"
        except ForeignError as error:
            return error.message

    def swap(owner: int, mode: int) -> None:
        """Put another file with the same text in its place."""
        path.with_suffix(".new").write_text(texts[swapped])
        os.chown(path.with_suffix(".new"), owner, owner)
        path.with_suffix(".new").chmod(mode)
        path.with_suffix(".new").rename(path)

    swap(0, 0o644)  # an editor writes it anew
    assert refused(gathered.template_folders) == ""
    swap(71002, 0o644)
    assert str(path) in refused(gathered.template_folders)
    assert refused(find_sources(None, Options(), project, foreign="take").template_folders) == ""  # --trust
    mates = {folder: Trusted(frozenset({71002})) for folder in gathered.template_folders}
    assert refused(mates) == ""
    swap(0, 0o666)
    assert str(path) in refused(gathered.template_folders)
    path.unlink()
    path.with_name("elsewhere").write_text(texts[swapped])
    os.chown(path.with_name("elsewhere"), 71002, 71002)
    path.symlink_to("elsewhere")
    assert str(path) in refused(gathered.template_folders)
    swap(0, 0o644)
    assert refused(gathered.template_folders) == ""


WORDS = ("{%", "%}", "{{", "}}", " ", "if", "endif", "for", "in", "endfor", "set", "block", "endblock", "a", "=", "==",
         "directive", ".", "__class__", "(", ")", "[", "]", "'x'", "9", "~", "|", "upper", "super", "include", "cycler",
         "assignments", ",", "not", "is", "self", "<#", "#>", "+", "*", "é", "\0")  # fmt: skip


@settings(max_examples=150)
@given(st.lists(st.sampled_from(WORDS), max_size=24).map("".join))
def test_any_text_is_a_script_or_an_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = own(tmp_path_factory.getbasetemp() / "fuzz", job=text)
    try:
        render(REQUEST, CLUSTER, [folder])
    except RequestError as error:
        assert error.message and error.exit_code == 2


def test_the_second_wall_holds_without_the_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from hackathon.jobs.templates import lint as module

    monkeypatch.setattr(module, "lint", lambda *_: None)
    for body in (
        "{{ cycler }}", "{{ directive.keys() }}", "{{ directive['a'] }}", "{{ launcher.upper() }}",
        "{{ launcher|upper }}", "{{ lipsum() }}", "{{ self.__init__ }}", "{{ range(9) }}",
        "{% if launcher is defined %}{% endif %}",
    ):  # fmt: skip
        with pytest.raises(RequestError):
            render(REQUEST, CLUSTER, [own(tmp_path, job=body)])


# ---- compiled templates ----
EVIL = (
    "def root(context, missing=None, environment=None):\n    yield 'EVIL'\nname = 'x'\nblocks = {}\ndebug_info = ''\n"
)


def poisoned(cache: Path) -> int:
    """Put other code into every compiled template; return how many there are."""
    code = marshal.dumps(compile(EVIL, "x", "exec"))
    count = 0
    for path in cache.rglob("*"):
        if path.is_file():
            stream = io.BytesIO(path.read_bytes())
            assert stream.read(len(bc_magic)) == bc_magic
            checksum = pickle.load(stream)
            path.write_bytes(bc_magic + pickle.dumps(checksum, 2) + code)
            count += 1
    return count


def change_folder(cache: Path) -> None:
    cache.chmod(0o777)


def change_files(cache: Path) -> None:
    for path in cache.iterdir():
        path.chmod(0o666)


def change_owner(cache: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    for path in cache.iterdir():
        os.chown(path, 65534, 65534)


def change_links(cache: Path) -> None:
    others = cache.with_name("others")
    others.mkdir()
    for path in list(cache.iterdir()):
        path.rename(others / path.name)
        path.symlink_to(others / path.name)


@pytest.mark.parametrize("change", [change_folder, change_files, change_owner, change_links])
def test_compiled_templates_that_others_may_have_written_are_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: object
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    good = render(REQUEST, CLUSTER)
    cache = user_cache() / "templates"
    assert poisoned(cache) > 5
    assert render(REQUEST, CLUSTER).job == "EVIL\n"  # they are loaded at all
    change(cache)  # type: ignore[operator]
    assert render(REQUEST, CLUSTER) == good


@pytest.mark.slow
def test_compiled_templates_belong_to_their_text_and_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for number in range(450):
        script = render(REQUEST, CLUSTER, [own(tmp_path, rank=f"# {number}\n")])
        assert script.rank == f"# {number}\n"
    found = list((user_cache() / "templates").iterdir())
    assert 200 <= len(found) <= 401 and all(path.stat().st_mode & 0o077 == 0 for path in found)
    for path in found:
        path.write_bytes(path.read_bytes()[:-20])  # a disk was full
    assert render(REQUEST, CLUSTER, [tmp_path]) == script


def test_only_job_templates_may_be_somebody_elses() -> None:
    """Pages, reports and slides are made of shipped templates only; who adds another loader decides here."""
    makers = {"Environment", "FileSystemLoader", "PackageLoader", "from_string", "TemplateSandbox", "Template"}
    found = set()
    for path in sorted((ROOT / "hackathon").rglob("*.py")):
        text = path.read_text()
        if "jinja2" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            name = getattr(getattr(node, "func", None), "id", getattr(getattr(node, "func", None), "attr", ""))
            if isinstance(node, ast.Call) and name in makers:
                shown = ast.unparse(node.args[0]) if node.args else ""
                found.add((str(path.relative_to(ROOT / "hackathon")), name, shown))
    assert found == {
        ("jobs/render.py", "TemplateSandbox", "Loader()"),
        ("schedulers/kubernetes/manifest.py", "Environment", ""),
        ("schedulers/kubernetes/manifest.py", "from_string",
         "Path(__file__).with_name('job.yaml.j2').read_text(encoding='utf-8')"),
        ("web/page/pages.py", "Environment", ""), ("web/page/markdown.py", "Environment", ""),
        ("web/page/pages.py", "FileSystemLoader", "shipped('templates', 'pages')"),
        ("web/page/markdown.py", "FileSystemLoader", "shipped('templates', 'report')"),
        ("web/report/files.py", "FileSystemLoader", "[shipped('templates', 'report'), shipped('templates', 'pages')]"),
    }  # fmt: skip


def test_help_imports_no_jinja() -> None:
    program = "import sys, hackathon.cli.main, hackathon.jobs.render; assert 'jinja2' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
