"""Files that people write: found on the search path, read whole, and every mistake named at once."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hackathon import __version__
from hackathon.config import load, rule_files
from hackathon.config.problems import ConfigError
from hackathon.config.project import UserSettings
from hackathon.config.recipe import Parameter
from hackathon.schedulers import registry
from hackathon.text.errors import RequestError
from hackathon.text.messages import set_language
from hackathon.text.paths import runtime_file, shipped
from support.effort import lines_run

CLUSTER = "name: {name}\nscheduler: slurm\nnode: {{gpus: 2}}\n"
RECIPE = "name: {name}\nframework: torch\nentry: train.py\n"
OWN_CODE = "name: x\ncommand: python train.py --lr {lr}\nparameters: {lr: 0.1}\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def project(folder: Path, text: str) -> Any:
    write(folder / "project.yaml", text)
    return load.load_project(folder)


def problems(folder: Path, text: str) -> dict[str, str]:
    """Return key → message id of a wrong project.yaml."""
    with pytest.raises(ConfigError) as refused:
        project(folder, text)
    assert refused.value.exit_code == 2
    return {problem.key: problem.id for problem in refused.value.problems}


def recipe_folder(folder: Path, name: str, text: str = RECIPE) -> Path:
    write(folder / name / "recipe.yaml", text.format(name=name) if text is RECIPE else text)
    write(folder / name / "train.py", "")
    return folder / name


def test_the_example_of_the_plan(tmp_path: Path) -> None:
    found = project(
        tmp_path,
        """
name: digits
team: aurora
recipe: torch-ddp                 # or   command: python train.py --lr {lr}
parameters: {lr: 0.1, batch_size: 64}
cluster: reedbush-h
queue: h-debug
walltime: 00:10:00
metrics:                          # own code only; common formats are known without it
  samples_per_s: {pattern: 'throughput: ([0-9.]+)', unit: samples/s, reduce: median, skip_first: 2}
  accuracy: {pattern: 'test accuracy ([0-9.]+)', reduce: last}
""",
    )
    assert (found.name, found.team, found.recipe, found.walltime) == ("digits", "aurora", "torch-ddp", 600)
    assert found.parameters == {"lr": 0.1, "batch_size": 64}
    assert found.metrics["samples_per_s"].skip_first == 2


def test_all_mistakes_of_a_file_are_named_at_once(tmp_path: Path) -> None:
    text = """nam: x
recipe: torch-ddp
command: python train.py | tee log
walltime: 3 parsecs
nodes: '4'
signal: TREM
metrics: {a: {pattern: '(a)(b)', reduce: sum}, b: {pattern: '('}}
parameters:
  x: {default: 3, tpe: int}
  y: [1]
  z: {min: a}
  v: .nan
  w: {default: abc, type: int}
variables: {Q: '"', 1A: x}
title: {jp: a}
threads: yes
processes: 0
"""
    with pytest.raises(ConfigError) as refused:
        project(tmp_path, text)
    found = [(each.line, each.key, each.id.removeprefix("config.")) for each in refused.value.problems]
    assert sorted(found, key=lambda entry: (entry[0] or 0, entry[1])) == [
        (1, "nam", "unknown_key_near"),
        (1, "name", "missing"),
        (3, "command", "recipe_and_command"),
        (3, "command", "command_shell"),
        (4, "walltime", "bad_walltime"),
        (5, "nodes", "quoted_number"),
        (6, "signal", "choice_near"),
        (7, "metrics.a.pattern", "pattern_groups"),
        (7, "metrics.a.reduce", "choice"),
        (7, "metrics.b.pattern", "pattern"),
        (9, "parameters.x.tpe", "unknown_key_near"),
        (10, "parameters.y", "wrong_kind"),
        (11, "parameters.z.min", "wrong_kind"),
        (12, "parameters.v", "not_finite"),
        (13, "parameters.w.default", "parameter_type"),
        (14, "variables.1A", "variable_name"),
        (14, "variables.Q", "shell_text"),
        (15, "title.jp", "choice"),
        (16, "threads", "wrong_kind"),
        (17, "processes", "too_small"),
    ]
    text = refused.value.message
    assert f"{tmp_path / 'project.yaml'}:9: parameters.x.tpe: unknown key; did you mean `type`?" in text
    set_language("ja")
    japanese = refused.value.message
    assert "「type」のことですか" in japanese
    assert len(japanese.splitlines()) == len(text.splitlines()) == 21


@pytest.mark.parametrize(
    ("line", "key", "identifier"),
    [
        ("nodes: many", "nodes", "wrong_kind"),
        ("nodes: 1.5", "nodes", "wrong_kind"),
        ("nodes: true", "nodes", "wrong_kind"),
        ("team: [a]", "team", "wrong_kind"),
        ("metrics: []", "metrics", "wrong_kind"),
        ("environment: module load x", "environment", "wrong_kind"),
        ("environment: [{a: b}]", "environment[1]", "wrong_kind"),
        ("metrics: {a: 3}", "metrics.a", "wrong_kind"),
        ("check: {at_least: 1}", "check.metric", "missing"),
        ("check: {metric: accuracy}", "check", "check_empty"),
        ("check: {metric: acuracy, at_least: 1}", "check.metric", "no_metric_near"),
        ("check: {metric: accuracy, at_least: .inf}", "check.at_least", "not_finite"),
        ("check: {metric: accuracy, at_least: 2, at_most: 1}", "check", "parameter_range"),
        ("metric: zzz", "metric", "no_metric"),
        ("scaling: {weak: {scale_learning_rate: l}}", "scaling.weak.scale_learning_rate", "no_parameter_near"),
        ("scaling: {strong: {divide: batch}}", "scaling.strong.divide", "no_parameter"),
        ("scaling: {strong: {divide: lr, by_program: true}}", "scaling.strong.by_program", "divided_twice"),
        ("launcher: slurm", "launcher", "choice"),
        ("launcher: torch-run", "launcher", "choice_near"),
        ("walltime: 0", "walltime", "bad_walltime"),
        ("walltime: 1.5", "walltime", "bad_walltime"),
        ("walltime: true", "walltime", "bad_walltime"),
        ("walltime: 10", "walltime", "ambiguous_walltime"),
        ("walltime: '600'", "walltime", "ambiguous_walltime"),
        ("walltime: 00:30", "walltime", "ambiguous_walltime"),
        (f"walltime: {'9' * 400}", "walltime", "bad_walltime"),
        (f"memory: {'9' * 400} GB", "memory", "bad_size"),
        ("memory: much", "memory", "bad_size"),
        ("memory: 64", "memory", "size_unit"),
        ("memory: '64'", "memory", "size_unit"),
        ("memory: 1.5", "memory", "size_unit"),
        ("memory: 0", "memory", "too_small"),
        ("memory: -5", "memory", "too_small"),
        ("memory: 512 K", "memory", "too_small"),
        ("nodes: '4'", "nodes", "quoted_number"),
        ("nodes: 010", "nodes", "odd_number"),
        ("nodes: -０１.５", "nodes", "odd_number"),
        ("nodes: ４", "nodes", "odd_number"),
        ("zzz: 1", "zzz", "unknown_key"),
        ("recipe: x", "recipe", "recipe_and_command"),
        ("metrics: {a: {pattern: abc}}", "metrics.a.pattern", "pattern_groups"),
        ("variables: {A: 'a\\'}", "variables.A", "shell_text"),
        ('variables: {A: "a\\nb"}', "variables.A", "shell_text"),
        ("variables: {A: null}", "variables.A", "wrong_kind"),
    ],
)
def test_each_mistake(tmp_path: Path, line: str, key: str, identifier: str) -> None:
    text = OWN_CODE + line + "\n"
    found = problems(tmp_path, text)
    assert found == ({"command": "config.recipe_and_command"} if key == "recipe" else {key: f"config.{identifier}"})


@pytest.mark.parametrize(
    ("declaration", "key", "identifier"),
    [
        ("{default: x, type: int}", "default", "parameter_type"),
        ("{default: 1.5, type: int}", "default", "parameter_type"),
        ("{default: true, type: int}", "default", "parameter_type"),
        ("{default: yes, type: bool}", "default", "parameter_type"),
        ("{default: 1, type: str}", "default", "parameter_type"),
        ("{default: 0, min: 1}", "default", "too_small"),
        ("{default: 3, max: 2}", "default", "too_large"),
        ("{default: c, choices: [a, b]}", "default", "choice"),
        ("{default: 1, type: int, choices: [1, x]}", "choices[2]", "parameter_type"),
        ("{choices: []}", "choices", "no_choices"),
        ("{default: a, min: 1}", "", "parameter_limits"),
        ("{type: int, min: 3, max: 2}", "", "parameter_range"),
        ("{type: integer}", "type", "choice_near"),
    ],
)
def test_declared_parameters_must_fit(tmp_path: Path, declaration: str, key: str, identifier: str) -> None:
    text = f"name: x\ncommand: run {{x}}\nparameters: {{x: {declaration}}}\n"
    assert problems(tmp_path, text) == {".".join(filter(None, ["parameters.x", key])): f"config.{identifier}"}


def test_a_parameter_without_type_has_the_type_of_its_default(tmp_path: Path) -> None:
    parameters = project(
        tmp_path,
        "name: x\ncommand: run\nparameters:\n  a: {default: 1}\n  b: {default: 1, max: 2.5}\n  c: {default: true}\n"
        "  d: {default: x}\n  e: {choices: [1, 2.5]}\n  f: {}\n  g: 0.1\n",
    ).parameters
    kinds = {name: entry.type for name, entry in parameters.items() if isinstance(entry, Parameter)}
    assert kinds == {"a": "int", "b": "float", "c": "bool", "d": "str", "e": "float", "f": "str"}
    assert parameters["g"] == 0.1


def test_texts_that_look_like_numbers_are_taken_as_written(tmp_path: Path) -> None:
    found = project(
        tmp_path,
        OWN_CODE + "group: 007\nteam: 12\nqueue: 1.10\ntitle: 2019\nvariables: {N: 4, V: 1.10, B: true, H: 0x10}\n",
    )
    assert (found.group, found.team, found.queue, found.title) == ("007", "12", "1.10", "2019")
    assert found.variables == {"N": "4", "V": "1.10", "B": "true", "H": "0x10"}


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("memory: 64", "write a unit, e.g. 64 GB"), ("memory: 65536", "write a unit, e.g. 65536 MB"),
        ("memory: 0", "at least 1 MiB"), ("nodes: 010", "write 10"), ("nodes: ４", "write 4"),
    ],
)  # fmt: skip
def test_what_was_probably_meant_is_named(tmp_path: Path, line: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as refused:
        project(tmp_path, OWN_CODE + line + "\n")
    assert refused.value.message.endswith(remedy)


def test_a_file_of_one_full_width_colon_is_explained(tmp_path: Path) -> None:
    assert problems(tmp_path, "name： x\ncommand： run\n") == {"": "config.yaml_wide_colon"}


def test_a_size_in_bytes_is_fine(tmp_path: Path) -> None:
    assert project(tmp_path, OWN_CODE + "memory: 68719476736\n").memory == 2**36
    assert load.load_project(tmp_path).memory == 2**36


MISTAKES: dict[str, Callable[[int], str]] = {
    "values": lambda many: "variables:\n" + "".join(f"  A{number}: ~\n" for number in range(many)),
    "names": lambda many: (
        "variables:\n" + "".join(f"  {number}A: {'~' if number % 2 else 'x'}\n" for number in range(2 * many))
    ),
    "keys": lambda many: "".join(f"nam{number}: x\n" for number in range(many)),
    "twice": lambda many: "variables:\n" + "".join(f"  A{number % many}: x\n" for number in range(2 * many)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MISTAKES)
def test_thousands_of_mistakes_are_told_soon_and_shortly(tmp_path: Path, kind: str) -> None:
    def refusal(many: int) -> ConfigError:
        with pytest.raises(ConfigError) as refused:
            project(tmp_path, OWN_CODE + MISTAKES[kind](many))
        return refused.value

    error = refusal(3000)
    few, some, most = (lines_run(partial(refusal, many)) for many in (500, 1000, 2000))
    assert most - some < 3 * (some - few), "what looks at all pairs of mistakes grows by four times as much"
    first, *named, last = error.message.splitlines()
    count = int(first.split()[-2])
    assert count >= 3000 and len(named) == 100
    assert f"{count - 100} more problems" in last
    assert [each.line for each in error.problems[:100]] == sorted(each.line or 0 for each in error.problems[:100])


def test_thousands_of_wrong_references_of_a_cluster_are_told_soon(tmp_path: Path) -> None:
    def refusal(many: int) -> ConfigError:
        words = [f"q{number}" for number in range(many)]
        queues = "queues: {" + ", ".join(f"{word}x: {{}}" for word in words) + "}\n"
        unverified = f"unverified: [{', '.join(f'queues.{word}' for word in words)}]\n"
        sources = "sources: {s: {title: t, date: 2026-09}}\nevidence: {node: [" + ", ".join(words) + "]}\n"
        write(tmp_path / "templates/clusters/c.yaml", CLUSTER.format(name="c") + queues + unverified + sources)
        with pytest.raises(ConfigError) as refused:
            registry.load_cluster("c", [tmp_path])
        return refused.value

    error = refusal(3000)
    few, some, most = (lines_run(partial(refusal, many)) for many in (500, 1000, 2000))
    assert most - some < 3 * (some - few)
    assert error.values["count"] == 6000 and len(error.problems) == 101


def test_yes_and_no_are_explained(tmp_path: Path) -> None:
    write(tmp_path / "templates/clusters/c.yaml", CLUSTER.format(name="c") + "dialect: {exclusive: yes}\n")
    with pytest.raises(ConfigError) as refused:
        registry.load_cluster("c", [tmp_path])
    assert "write true or false" in refused.value.message


@pytest.mark.parametrize(
    "name", ["日本語チーム", "手書き数字-1", "a'b", "$(id)", "x y", "a" * 60, "が" + "\u3099", "a.b"]
)
def test_project_names_that_are_fine(tmp_path: Path, name: str) -> None:
    assert project(tmp_path, OWN_CODE.replace("name: x", f'name: "{name}"')).name == name


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("", "name_empty"), (" ", "name_empty"), ("a/b", "name_signs"), ("a\\nb", "name_signs"), ("..", "name_signs"),
        (".x", "name_signs"), ("a\\0", "name_signs"), ("a" * 61, "name_long"), (" a", "name_signs"),
        ("a\\u202Eb", "name_signs"), ("a\\e[31m", "name_signs"),
    ],
)  # fmt: skip
def test_project_names_that_are_not(tmp_path: Path, name: str, identifier: str) -> None:
    assert problems(tmp_path, OWN_CODE.replace("name: x", f'name: "{name}"')) == {"name": f"config.{identifier}"}


def test_own_code_needs_a_recipe_or_a_command(tmp_path: Path) -> None:
    assert problems(tmp_path, "name: x\n") == {"": "config.recipe_or_command"}


def test_command_placeholders_must_be_declared(tmp_path: Path) -> None:
    found = problems(tmp_path, "name: x\ncommand: run {lrr}\nparameters: {lr: 1}\n")
    assert found == {"command": "config.command_placeholder_near"}
    assert project(tmp_path, "name: x\ncommand: run {lr} {x}\nparameters: {lr: 1, x: {type: int}}\n").command


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n", "text\n", "a: [\n", "{}\n"])
def test_files_that_are_no_project_at_all(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, text)


def test_missing_files(tmp_path: Path) -> None:
    for function in (load.load_project, load.load_event):
        with pytest.raises(ConfigError) as refused:
            function(tmp_path)
        assert refused.value.problems[0].id == "config.file_missing"


def test_clusters_are_searched_project_first_then_event_then_user_then_shipped(tmp_path: Path, own_home: Path) -> None:
    own, event = tmp_path / "own", tmp_path / "event"
    places = [own / "templates/clusters", event / "templates/clusters", own_home / "config/hackathon/clusters"]
    for place in places:
        write(place / "laptop.yaml", CLUSTER.format(name="laptop") + f"title: '{place}'\n")
    for place in places:
        assert registry.load_cluster("laptop", [own, event]).title == str(place)
        (place / "laptop.yaml").unlink()
    assert registry.load_cluster("laptop", [own, event]).scheduler == "local"


def test_recipes_are_searched_project_first_then_event_then_user(tmp_path: Path, own_home: Path) -> None:
    own, event, user = tmp_path / "own", tmp_path / "event", own_home / "config/hackathon"
    folders = [recipe_folder(place / "recipes", "mine") for place in (own, event, user)]
    for folder in folders:
        assert load.load_recipe("mine", [own, event])[1] == folder
        (folder / "recipe.yaml").unlink()
    with pytest.raises(RequestError):
        load.load_recipe("mine", [own, event])


def test_a_recipe_may_be_named_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = recipe_folder(tmp_path / "some where", "日本語")
    assert load.load_recipe(str(folder))[1] == folder
    assert load.load_recipe(folder)[0].name == "日本語"
    monkeypatch.chdir(folder)
    assert load.load_recipe(".")[1] == folder
    monkeypatch.chdir(folder.parent)
    assert load.load_recipe("日本語")[1] == folder


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../laptop", "/etc/passwd", "a\0b", "laptop.yaml/..", "no-such", "\udcff"]
)
def test_unknown_names_are_requests_that_were_wrong(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for function in (registry.load_cluster, load.load_recipe):
        with pytest.raises(RequestError) as refused:
            function(name)
        assert refused.value.exit_code == 2
        assert refused.value.message


def test_near_names_are_offered(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as refused:
        registry.load_cluster("reedbush_h")
    assert "did you mean `reedbush-h`" in refused.value.message
    recipe_folder(tmp_path / "recipes", "chainer-mnist")
    with pytest.raises(RequestError) as refused:
        load.load_recipe("chainer-mnst", [tmp_path])
    assert "did you mean `chainer-mnist`" in refused.value.message


def test_names_of_files_and_records_must_agree(tmp_path: Path) -> None:
    write(tmp_path / "templates/clusters/a.yaml", CLUSTER.format(name="b"))
    with pytest.raises(ConfigError) as refused:
        registry.load_cluster("a", [tmp_path])
    assert refused.value.problems[0].id == "config.name_differs"
    # the same bytes under their right name are fine, although they were just refused
    write(tmp_path / "templates/clusters/b.yaml", CLUSTER.format(name="b"))
    assert registry.load_cluster("b", [tmp_path]).name == "b"


def test_lists_report_broken_files_and_go_on(tmp_path: Path) -> None:
    write(tmp_path / "templates/clusters/good.yaml", CLUSTER.format(name="good"))
    write(tmp_path / "templates/clusters/bad.yaml", "name: bad\n")
    write(tmp_path / "templates/clusters/laptop.yaml", "name: [\n")
    clusters, wrong = registry.list_clusters([tmp_path])
    names = [cluster.name for cluster in clusters]
    assert "good" in names and "reedbush-h" in names and names == sorted(names)
    # a broken file still hides the shipped one of its name: it is the one that would be used
    assert "laptop" not in names
    assert {problem.file.name for problem in wrong} == {"bad.yaml", "laptop.yaml"}
    recipe_folder(tmp_path / "recipes", "fine")
    write(tmp_path / "recipes/broken/recipe.yaml", RECIPE.format(name="other"))
    recipes, wrong = load.list_recipes([tmp_path])
    assert "fine" in [recipe.name for recipe in recipes]
    assert [problem.file.parent.name for problem in wrong] == ["broken"]


@pytest.mark.parametrize(
    ("line", "key", "identifier"),
    [
        ("queue: q\nqueues: {p: {}}", "queue", "no_queue"),
        ("queue: h-debg\nqueues: {h-debug: {}}", "queue", "no_queue_near"),
        ("queues: {q: {nodes: 2, min_nodes: 3}}", "queues.q", "queue_nodes"),
        ("queues: {q: {nodes: 0}}", "queues.q.nodes", "too_small"),
        ("queues: {'a b': {walltime: x}}", 'queues."a b".walltime', "bad_walltime"),
        ("queues: {Q: {}}\npatterns: {queue: '[a-z]+'}", "queues.Q", "queue_pattern"),
        ("patterns: {group: '('}", "patterns.group", "pattern"),
        ("patterns: {grup: 'a'}", "patterns.grup", "no_pattern_near"),
        ("unverified: [node.gpus, node.cores]", "unverified[2]", "unverified"),
        ("unverified: [queues.x.nodes]", "unverified[1]", "unverified"),
        ("sources: {M: {title: t, date: 31 May}}", "sources.M.date", "source_date"),
        ("sources: {M: {title: t, date: 2026-09}}\nevidence: {nodes: M}", "evidence.nodes", "unverified"),
        ("evidence: {node: M}", "evidence.node", "no_source"),
        ("sources: {Map: {title: t, date: 2026-09}}\nevidence: {node: [Map, Mapp]}", "evidence.node", "no_source_near"),
        ("visible_from_nodes: [lustre]", "visible_from_nodes[1]", "not_absolute"),
        ("telemetry_seconds: -1", "telemetry_seconds", "too_small"),
        ("processes_per_node: 0.5", "processes_per_node", "wrong_kind"),
        ("processes_per_node: all", "processes_per_node", "wrong_kind"),
        ("peak_tflops: {fp32: -1}", "peak_tflops.fp32", "too_small"),
        ("scratch: 'a\"b'", "scratch", "shell_text"),
        ("starter: rocket", "starter", "choice"),
    ],
)
def test_clusters_must_agree_with_themselves(tmp_path: Path, line: str, key: str, identifier: str) -> None:
    write(tmp_path / "templates/clusters/c.yaml", CLUSTER.format(name="c") + line + "\n")
    with pytest.raises(ConfigError) as refused:
        registry.load_cluster("c", [tmp_path])
    assert {problem.key: problem.id for problem in refused.value.problems} == {key: f"config.{identifier}"}


@pytest.mark.parametrize("entry", ["../train.py", "/bin/sh", "a/../../b", "''"])
def test_a_recipe_runs_only_what_lies_in_its_folder(tmp_path: Path, entry: str) -> None:
    folder = recipe_folder(tmp_path, "r", f"name: r\nframework: torch\nentry: {entry}\n")
    with pytest.raises(ConfigError) as refused:
        load.load_recipe(folder)
    assert [problem.id for problem in refused.value.problems] == ["config.entry_outside"]


@pytest.mark.parametrize(
    ("shared", "identifier", "words"),
    [
        ("[data.py, lib/data.py]", "shared_name", '"lib/data.py"'),
        ("['..']", "shared_name", '".."'),
        ("['']", "shared_name", '""'),
        ("[dta.py]", "no_shared_near", "data.py"),
        ("[data.py, zzzzzzzzzzzz]", "no_shared", "resnet.py"),
    ],
)
def test_a_recipe_shares_files_by_name(tmp_path: Path, shared: str, identifier: str, words: str) -> None:
    folder = recipe_folder(tmp_path, "r", f"name: r\nframework: torch\nentry: train.py\nshared: {shared}\n")
    with pytest.raises(ConfigError) as refused:
        load.load_recipe(folder)
    (problem,) = refused.value.problems
    assert problem.id == f"config.{identifier}" and words in str(problem)
    assert problem.file == folder / "recipe.yaml" and problem.key.startswith("shared[")


def test_shared_files_lie_beside_the_recipe_else_in_the_toolkit(tmp_path: Path) -> None:
    text = "name: r\nframework: torch\nentry: src/run.py\nshared: [data.py, ours.py]\n"
    folder = recipe_folder(tmp_path, "r", text)
    write(folder / "src/run.py", "")
    write(tmp_path / "shared/ours.py", "")
    files = load.shared_files(*load.load_recipe(folder))
    assert files == {
        "src/hackathon_runtime.py": runtime_file(),
        "src/data.py": shipped("recipes", "shared", "data.py"),
        "src/ours.py": tmp_path / "shared" / "ours.py",
    }
    own = write(tmp_path / "shared/data.py", "")
    assert load.shared_files(*load.load_recipe(folder))["src/data.py"] == own
    (tmp_path / "shared/ours.py").unlink()
    with pytest.raises(ConfigError):
        load.load_recipe(folder)
    write(folder / "src/ours.py", "")  # one of its own: no other is needed
    assert load.load_recipe(folder)


def test_a_recipe_needs_its_program(tmp_path: Path) -> None:
    folder = recipe_folder(tmp_path, "r")
    assert load.load_recipe(folder)
    (folder / "train.py").unlink()
    with pytest.raises(ConfigError) as refused:
        load.load_recipe(folder)
    assert refused.value.problems[0].id == "config.entry_missing"


def test_user_defaults(own_home: Path) -> None:
    assert load.load_user() == UserSettings()
    write(own_home / "config/hackathon/config.yaml", "cluster: laptop\nwalltime: 90m\nlang: ja\n")
    assert load.load_user() == UserSettings(cluster="laptop", walltime=5400, lang="ja")


def test_no_home_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    assert load.load_user() == UserSettings()
    assert registry.load_cluster("laptop").scheduler == "local"


def test_event(tmp_path: Path) -> None:
    write(
        tmp_path / "hackathon.yaml",
        """
title: {en: Hackathon, ja: ハッカソン}
dates: [2019-01-24, 2019-01-25]
clusters: {reedbush-h: {queue: h-tutorial, budget: {node_hours: 100}}}
defaults: {cluster: reedbush-h}
teams:
  - {name: aurora, group: gi99, members: [{user: t00001, kind: master}], tutors: [smith]}
tutors: [{user: smith, knows: [NCCL]}]
schedule:
  - {title: {en: reception, ja: 受付}, day: 2019-01-24, start: 09:30, end: 10:00}
  - {title: {en: break, ja: 休憩}, day: 2019-01-24}
""",
    )
    event = load.load_event(tmp_path)
    assert event.dates == ["2019-01-24", "2019-01-25"]
    assert (event.schedule[0].start, event.schedule[1].start) == ("09:30", None)
    assert event.clusters["reedbush-h"].budget is not None
    write(
        tmp_path / "hackathon.yaml",
        "title: x\nteams: [{name: a, tutors: [smth]}, {name: a}]\ntutors: [{user: smith}]\n",
    )
    with pytest.raises(ConfigError) as refused:
        load.load_event(tmp_path)
    assert {problem.key: problem.id for problem in refused.value.problems} == {
        "teams[1].tutors[1]": "config.no_tutor_near",
        "teams[2].name": "config.team_twice",
    }


def test_the_project_that_holds_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "event" / "team" / "src" / "deep"
    inner.mkdir(parents=True)
    assert load.find_project(inner) is None
    write(tmp_path / "event/team/project.yaml", OWN_CODE)
    write(tmp_path / "event/hackathon.yaml", "title: x\n")
    assert load.find_project(inner) == tmp_path / "event/team"
    assert load.find_project(tmp_path / "event/team") == tmp_path / "event/team"
    assert load.find_event(inner) == tmp_path / "event"
    assert load.find_project(tmp_path / "event") is None
    monkeypatch.chdir(inner)
    assert load.find_project(Path()) == tmp_path / "event/team"


def test_problems_are_named_relative_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as refused:
        project(tmp_path, "name: x\nrecipe: y\nzzz: 1\n")
    assert refused.value.message.startswith(f"project.yaml:3: zzz: hackathon {__version__} does")
    assert "; known keys: name, team" in refused.value.message


@pytest.mark.parametrize(("lang", "words"), [("en", "newer version"), ("ja", "新しい版")])
def test_a_key_of_a_newer_version_is_told_with_this_version(tmp_path: Path, lang: str, words: str) -> None:
    """Files that people write have no version: a key that is not known, and near to no other, tells of one."""
    write(tmp_path / "templates/clusters/one.yaml", f"{CLUSTER.format(name='one')}zzz: 1\n")
    write(tmp_path / "templates/rules/own.yaml", "rules: [{id: own, zzz: 1}]\n")
    write(tmp_path / "hackathon.yaml", "title: x\nzzz: 1\n")
    write(tmp_path / "project.yaml", "name: x\ncommand: run\nparameters: {a: {default: 1, zzz: 1}}\n")
    told = []
    for read in (
        lambda: registry.load_cluster("one", [tmp_path]), lambda: load.load_event(tmp_path),
        lambda: load.load_project(tmp_path),
    ):  # fmt: skip
        with pytest.raises(ConfigError) as refused:
            read()
        told += [problem for problem in refused.value.problems if problem.id == "config.unknown_key"]
    told += [problem for problem in rule_files.load_rules([tmp_path])[1] if problem.id == "config.unknown_key"]
    assert len(told) == 4
    set_language(lang)
    assert all(words in each.text and __version__ in each.text and "zzz" in each.key for each in told)


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        project(tmp_path, 'name: x\ncommand: run\nwalltime: "\\e[2J"\n"\\e[31mred": 1\n')
    assert "\x1b" not in refused.value.message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text("ab{}|'\n$ 日", max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
            ["name", "recipe", "command", "parameters", "default", "type", "choices", "min", "metrics", "pattern", "x",
             "check", "metric", "at_least", "scaling", "weak", "walltime", "title", "en", "jp", "variables", "nodes"]
        ), inner, max_size=5),
        max_leaves=20,
    ).filter(lambda value: isinstance(value, dict))
)  # fmt: skip
@pytest.mark.slow
def test_any_project_is_accepted_or_refused_in_words(tmp_path: Path, value: Any) -> None:
    import yaml as pyyaml

    try:
        project(tmp_path, pyyaml.safe_dump(value, allow_unicode=True, sort_keys=False))
    except ConfigError as error:
        assert error.message
        assert all(problem.id != "config.wrong_value" for problem in error.problems)
