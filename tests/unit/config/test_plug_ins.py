"""What installed packages add: found by their entry points, kept, and named when they cannot be used."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.config import load, plug_ins, rule_files
from hackathon.diagnosis import scan
from hackathon.jobs.places import around
from hackathon.schedulers import registry
from hackathon.text.errors import RequestError
from hackathon.text.paths import user_cache
from support.paths import ROOT

CLUSTER = "name: {name}\nscheduler: local\nnode: {{cores: auto}}\n"
RULE = """\
rules:
  - id: {id}
    part: env
    level: root
    title: {{en: The licence is gone, ja: ライセンスがありません}}
    patterns: [{{regex: '{regex}'}}]
    sample: {{text: "{sample}", source: test}}
"""
STRANGER = 64123
Package = Callable[..., Path]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    """Install a package: files by their paths, entry points as `kind: name = value`."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    before = set(sys.modules)

    def install(name: str, entries: dict[str, list[str]], files: dict[str, str], version: str = "1.0") -> Path:
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [line for kind, points in entries.items() for line in (f"[hackathon.{kind}]", *points)]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        for path, text in files.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
        age(site)
        return site

    yield install
    for module in set(sys.modules) - before:
        if (getattr(sys.modules[module], "__file__", None) or "").startswith(str(site)):
            del sys.modules[module]


def age(site: Path) -> None:
    """Make a folder look as if nothing had been installed for a while, at another moment than before."""
    changed = site.stat().st_mtime_ns - 10**10
    os.utime(site, ns=(changed, changed))


COMMAND = "import click\n\n\n@click.command()\ndef command() -> None:\n    click.echo('works')\n"


def test_a_name_of_the_toolkit_is_never_looked_up(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"quick/clusters/laptop.yaml": CLUSTER.format(name="laptop"), "quick/__init__.py": ""}
    package("quick", {"clusters": ["laptop = quick.clusters"], "commands": ["recipes = quick:command"]}, files)

    def looked_up() -> None:
        raise AssertionError("the packages were asked for a name of the toolkit")

    monkeypatch.setattr(plug_ins, "_marks", looked_up)
    assert load.find_cluster("laptop", ()).is_relative_to(ROOT)
    assert load.load_recipe("allreduce")[0].name == "allreduce"
    assert run(["render", "allreduce", "--cluster", "laptop"]) == 0


def test_the_toolkits_name_counts_and_the_clash_is_named(package: Package, capsys: pytest.CaptureFixture[str]) -> None:
    rule = RULE.format(id="gpu-busy", regex="nolicencehere", sample="nolicencehere")
    files = {
        "quick/clusters/laptop.yaml": CLUSTER.format(name="laptop").replace("local", "slurm"),
        "quick/recipes/allreduce/recipe.yaml": "name: allreduce\nframework: none\nentry: x.py\n",
        "quick/rules/quick.yaml": rule,
        "quick/__init__.py": COMMAND,
    }
    entries = {
        "clusters": ["laptop = quick.clusters"],
        "recipes": ["allreduce = quick.recipes"],
        "rules": ["quick = quick.rules"],
        "commands": ["recipes = quick:command", "tune-up = quick:command"],
        "schedulers": ["slurm = quick:command"],
    }
    package("quick", entries, files)
    assert run(["recipes"]) == 0
    answer = capsys.readouterr()
    assert (
        "torch-ddp" in answer.out and "allreduce (hackathon.recipes) of the package quick 1.0 is not used" in answer.err
    )
    assert run(["clusters"]) == 0
    assert "laptop (hackathon.clusters) of the package quick 1.0 is not used" in capsys.readouterr().err
    assert registry.load_cluster("laptop").scheduler == "local"
    assert run(["rules", "check"]) == 2
    assert "the rule gpu-busy of the package quick 1.0 is not used: hackathon has one" in capsys.readouterr().out
    run(["plugins", "--json"])
    plugins = [row for row in json.loads(capsys.readouterr().out)["plugins"] if row["distribution"] == "quick"]
    rows = {(row["kind"], row["name"]): row["state"] for row in plugins}
    assert {key for key, state in rows.items() if state == "unused"} == {
        ("clusters", "laptop"), ("recipes", "allreduce"), ("commands", "recipes"), ("commands", "tune-up"),
        ("schedulers", "slurm"),
    }  # fmt: skip


BROKEN = {
    "commands": {
        "raises": "licence has expired", "leaves": "SystemExit", "typed": "not a click command but str",
        "missing": "no_such_thing", "absent": "No module named 'nowhere'",
    },
    "recipes": {"gone": "recipes/gone/recipe.yaml does not exist", "colon": "must be a folder of a package"},
    "clusters": {"gone": "the folder bad/nothing does not exist", "wrong": "scheduler: is missing"},
    "rules": {"gone": "does not exist", "endless": "pattern"},
    "templates": {"loud": "may print only assignments", "empty": "there is no job template"},
    "schedulers": {"typed": "is not a subclass"},
}  # fmt: skip
"""Kind → name → what the error says."""


@pytest.fixture
def broken(package: Package) -> Path:
    """Install a package of which nothing works, and one that works."""
    files = {
        "bad/__init__.py": "text = 'no command'\n",
        "bad/raises.py": "raise RuntimeError('licence has expired')\n",
        "bad/leaves.py": "import sys\n\nsys.exit(3)\n",
        "bad/recipes/note.txt": "",
        "bad/clusters/wrong.yaml": "name: wrong\nnode: {cores: 1}\n",
        "bad/rules/endless.yaml": RULE.format(id="endless", regex="(?=a)b", sample="b"),
        "bad/loud/job.sh.j2": "{{ scheduler|upper }}\n",
        "bad/empty/note.txt": "",
        "good/__init__.py": COMMAND,
        "good/clusters/kumo.yaml": CLUSTER.format(name="kumo"),
    }
    entries = {
        "commands": ["raises = bad.raises:command", "leaves = bad.leaves:command", "typed = bad:text",
                     "missing = bad:no_such_thing", "absent = nowhere:command"],
        "recipes": ["gone = bad.recipes", "colon = bad:recipes"],
        "clusters": ["gone = bad.nothing", "wrong = bad.clusters"],
        "rules": ["gone = bad.rules", "endless = bad.rules"],
        "templates": ["loud = bad.loud", "empty = bad.empty"],
        "schedulers": ["typed = bad:text"],
    }  # fmt: skip
    package("bad-package", entries, files)
    return package("good", {"commands": ["works = good:command"], "clusters": ["kumo = good.clusters"]}, {})


def test_what_cannot_be_used_is_named_with_package_and_remedy(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plugins", "--json"]) == 1
    rows = {(row["kind"], row["name"]): row for row in json.loads(capsys.readouterr().out)["plugins"]}
    for kind, names in BROKEN.items():
        for name, words in names.items():
            problem = rows[kind, name]["problem"]
            assert rows[kind, name]["state"] == "bad" and words in problem, (kind, name, problem)
            assert f"The package bad-package 1.0 cannot be used: entry point hackathon.{kind}: {name} = " in problem
            assert "\n" not in problem
    assert {row["state"] for row in rows.values() if row["distribution"] == "good"} == {"good"}


@pytest.mark.parametrize("name", BROKEN["commands"])
def test_a_broken_command_fails_alone_and_without_a_traceback(
    broken: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([name]) == 2
    answer = capsys.readouterr().err
    assert f"bad-package 1.0 cannot be used: entry point hackathon.commands: {name}" in answer
    assert BROKEN["commands"][name] in answer and "pip uninstall bad-package" in answer and "Traceback" not in answer
    assert run(["works"]) == 0 and capsys.readouterr().out == "works\n"
    assert run(["--help"]) == 0
    assert f"  {name} " in capsys.readouterr().out


def test_broken_files_hide_no_others(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["clusters", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {"name": "kumo", "title": "", "scheduler": "local", "from": "good 1.0"} in answer["clusters"]
    assert any("bad/nothing" in problem for problem in answer["problems"])
    assert run(["recipes"]) == 0 and "bad-package 1.0" in capsys.readouterr().err
    rules, problems = rule_files.load_rules()
    assert len(rules) > 300 and {problem.id for problem in problems} >= {"plug_ins.broken"}
    for kind, name in (("clusters", "gone"), ("recipes", "colon")):
        with pytest.raises(RequestError, match="bad-package"):
            load.find_cluster(name, ()) if kind == "clusters" else load.load_recipe(name)


def test_completion_survives_a_broken_command(broken: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{broken}:{ROOT}", "COMP_CWORD": "1"}
    for words, expected in (("hackathon r", "recipes"), ("hackathon w", "works")):
        answer = subprocess.run(
            [sys.executable, "-c", "from hackathon.cli.main import main; main()"],
            env={**environment, "_HACKATHON_COMPLETE": "bash_complete", "COMP_WORDS": words},
            capture_output=True, text=True,
        )  # fmt: skip
        assert f"plain,{expected}" in answer.stdout and answer.stderr == ""


def test_a_name_of_two_packages_is_refused(package: Package, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        files = {f"{name}/__init__.py": COMMAND, f"{name}/clusters/kumo.yaml": CLUSTER.format(name="kumo")}
        package(name, {"commands": [f"works = {name}:command"], "clusters": [f"kumo = {name}.clusters"]}, files)
    assert run(["works"]) == 2
    assert "works (hackathon.commands) is in several packages: one 1.0, two 1.0" in capsys.readouterr().err
    with pytest.raises(RequestError, match="several packages: one"):
        registry.load_cluster("kumo")
    assert run(["clusters"]) == 0
    assert "several packages" in capsys.readouterr().err
    assert run(["plugins"]) == 1


def test_a_project_comes_before_a_package(package: Package, tmp_path: Path) -> None:
    package("good", {"clusters": ["kumo = good.clusters"]}, {
        "good/__init__.py": "", "good/clusters/kumo.yaml": CLUSTER.format(name="kumo"),
    })  # fmt: skip
    own = tmp_path / "own"
    (own / "templates" / "clusters").mkdir(parents=True)
    (own / "templates" / "clusters" / "kumo.yaml").write_text(CLUSTER.format(name="kumo") + "queue: mine\n")
    assert registry.load_cluster("kumo").queue is None
    assert registry.load_cluster("kumo", [own]).queue == "mine"
    files, problems = load.cluster_files([own])
    assert files["kumo"].is_relative_to(own) and problems == []


def test_the_list_is_kept_until_something_is_installed(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    site = package("good", {"commands": ["works = good:command"]}, {"good/__init__.py": COMMAND})

    def names() -> list[str]:
        monkeypatch.setattr(plug_ins, "_latest", None)  # as in another process
        return [plug_in.name for plug_in in plug_ins.of_kind("commands") if plug_in.distribution in ("good", "more")]

    assert names() == ["works"]
    kept = next(user_cache().glob("plug-ins-*"))
    assert kept.stat().st_mode & 0o777 == 0o600 and "works\tgood:command\tgood\t1.0" in kept.read_text()
    with monkeypatch.context() as patch:
        patch.setattr(plug_ins, "_read_packages", lambda folders: pytest.fail("the list was not kept"))
        assert names() == ["works"]
    package("more", {"commands": ["again = good:command"]}, {})
    assert names() == ["again", "works"]
    for content in ("", "plug-ins 1\n", kept.read_text()[:-5], kept.read_text().replace("\t", " ")):
        kept.write_text(content)  # torn, or of another version
        assert names() == ["again", "works"]
    # what an installer does in this very moment may still go on
    kept.unlink()
    os.utime(site)
    assert names() == ["again", "works"] and not kept.exists()


def test_a_stale_list_is_refreshed_before_a_name_is_refused(
    package: Package, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = package("good", {"commands": ["works = good:command"]}, {"good/__init__.py": COMMAND})
    assert run(["works"]) == 0
    changed = site.stat().st_mtime_ns
    points = next(site.glob("good-*/entry_points.txt"))
    points.write_text("[hackathon.commands]\nrenamed = good:command\n")  # in place: the folder does not change
    os.utime(site, ns=(changed, changed))
    monkeypatch.setattr(plug_ins, "_latest", None)
    capsys.readouterr()
    assert run(["renamed"]) == 0 and capsys.readouterr().out == "works\n"


def test_the_current_folder_adds_nothing(package: Package, tmp_path: Path) -> None:
    site = package("good", {"commands": ["works = good:command"]}, {"good/__init__.py": COMMAND})
    for folder, code in ((site, 2), (tmp_path, 0)):
        answer = subprocess.run(
            [sys.executable, "-m", "hackathon", "works"], cwd=folder, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT}" if folder == site else f"{ROOT}:{site}"},
        )  # fmt: skip
        assert answer.returncode == code, answer.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other accounts")
def test_files_of_a_package_count_whoever_installed_it(package: Package, tmp_path: Path) -> None:
    files = {"good/__init__.py": "", "good/recipes/pi/recipe.yaml": "name: pi\nframework: none\nentry: pi.py\n",
             "good/recipes/pi/pi.py": ""}  # fmt: skip
    site = package("good", {"recipes": ["pi = good.recipes"]}, files)
    recipe = site / "good" / "recipes" / "pi" / "recipe.yaml"
    beside = tmp_path / "work" / "recipe.yaml"
    beside.write_text(recipe.read_text())
    for path in (recipe, beside):
        os.chown(path, STRANGER, STRANGER)
    places = around(None, tmp_path / "work", "refuse")
    assert places.admit(recipe)
    for other in (beside, recipe.parent / ".." / ".." / ".." / ".." / "work" / "recipe.yaml"):
        with pytest.raises(RequestError, match="belongs to"):
            places.admit(other)


@pytest.mark.slow
def test_a_packages_rule_that_does_not_end_costs_itself_only(
    package: Package, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = "rules: [{id: slow-one, part: data, level: root, title: A, patterns: [{regex: 'CUDA out (a*a*a*a*)*b'}]}]\n"
    site = package("slow", {"rules": ["slow = slow.rules"]}, {"slow/__init__.py": "", "slow/rules/slow.yaml": rule})
    monkeypatch.setattr(scan, "RULE_SECONDS", 0.3)
    text = f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\nCUDA out {'a' * 3000}\n"
    Path("rank-0.log").write_text(text)
    assert run(["diagnose", "rank-0.log"]) in (0, 1)
    answer = capsys.readouterr()
    assert f"rule slow-one in {site / 'slow' / 'rules' / 'slow.yaml'} took too long" in answer.err
    assert "GPU" in answer.out
