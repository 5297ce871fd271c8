"""Checked files are remembered; whatever happens to the cache, the answer is the same."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hackathon.config import load
from hackathon.config.cluster import Cluster
from hackathon.config.event import Event
from hackathon.config.problems import ConfigError
from hackathon.config.project import Defaults, Project
from hackathon.config.recipe import Parameter, Recipe
from hackathon.config.records import Mismatch, checked, rebuild
from hackathon.config.rule import RuleFile
from hackathon.config.schema import json_schema
from hackathon.config.survey import Survey
from hackathon.config.yaml import read_yaml
from hackathon.schedulers import registry
from hackathon.schedulers.dialect import Dialect
from hackathon.text.paths import shipped

PROJECT = """
name: 日本語
command: run {a} {b}
parameters: {a: 1, b: {default: 0.5, min: 0, help: {en: x, ja: ペケ}}, c: true, d: text}
walltime: 90m
metrics: {loss: {pattern: 'loss ([0-9.]+)'}}
check: {metric: loss, at_most: 1}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project.yaml").write_text(PROJECT, encoding="utf-8")
    return tmp_path


@pytest.fixture
def kept(own_home: Path) -> Path:
    return own_home / "cache/hackathon/config"


def test_a_second_reading_gives_the_same_record(folder: Path, kept: Path) -> None:
    first = load.load_project(folder)
    files = list(kept.iterdir())
    assert len(files) == 1
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
    assert load.load_project(folder) == first
    assert isinstance(first.parameters["b"], Parameter)
    assert first.parameters["a"] == 1 and first.parameters["c"] is True


@pytest.mark.parametrize(
    "call", ["registry.load_cluster('reedbush-h')", "load.load_project(Path('.'))", "registry.list_clusters()"]
)
def test_a_hit_does_not_import_yaml(folder: Path, call: str) -> None:
    code = (
        "import sys; from pathlib import Path; from hackathon.config import load;"
        f"from hackathon.schedulers import registry; {call};"
        "print(sorted({'yaml', 'asyncio'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answers = [
        subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert answers[0].stdout.strip() == "['yaml']"
    assert answers[1].stdout.strip() == "[]"


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"{", b"null", b"\xff\xfe", b"0" * 64 + b"\n{}", b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_damaged_cache_is_checked_anew(folder: Path, kept: Path, damage: bytes) -> None:
    first = load.load_project(folder)
    (file,) = kept.iterdir()
    good = file.read_bytes()
    file.write_bytes(damage)
    assert load.load_project(folder) == first
    assert file.read_bytes() == good


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_one_wrong_byte_is_noticed(position: int, change: int) -> None:
    key = load.cache_key("Project", None, b"x")
    load.keep(key, {"name": "x", "numbers": [1, 2.5, None]})
    path = load._cache_folder() / f"{key}.json"
    raw = bytearray(path.read_bytes())
    raw[position % len(raw)] ^= change
    path.write_bytes(raw)
    assert load.recall(key) is None


def test_a_record_that_does_not_fit_is_checked_anew(folder: Path, kept: Path) -> None:
    first = load.load_project(folder)
    (file,) = kept.iterdir()
    for value in ({}, {"name": 3}, [], "x", {**asdict(first), "newer": 1}, {**asdict(first), "signal": "KILL"}):
        load.keep(file.stem, value)
        assert load.load_project(folder) == first


def test_an_edited_file_is_read_anew(folder: Path) -> None:
    assert load.load_project(folder).walltime == 5400
    (folder / "project.yaml").write_text(PROJECT.replace("90m", "91m"), encoding="utf-8")
    assert load.load_project(folder).walltime == 5460


def test_wrong_files_are_refused_each_time(folder: Path) -> None:
    (folder / "project.yaml").write_text("name: x\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(ConfigError):
            load.load_project(folder)


def test_the_key_holds_everything_that_decides() -> None:
    keys = {
        load.cache_key(kind, name, raw)
        for kind in ("Project", "Recipe")
        for name in (None, "a", "b")
        for raw in (b"x", b"y")
    }
    assert len(keys) == 12


def test_another_version_of_the_toolkit_checks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = load.cache_key("Project", None, b"x")
    monkeypatch.setattr(load, "__version__", "9.9.9")
    assert load.cache_key("Project", None, b"x") != before


def test_a_cache_that_can_not_be_written_is_no_failure(folder: Path, own_home: Path) -> None:
    (own_home / "cache").write_text("a file where a folder should be")
    assert load.load_project(folder) == load.load_project(folder)


def test_the_cache_does_not_grow_for_ever(kept: Path) -> None:
    for number in range(load.KEPT + 5):
        load.keep(load.cache_key("Project", None, str(number).encode()), {"number": number})
    assert len(list(kept.iterdir())) <= load.KEPT
    assert load.recall(load.cache_key("Project", None, str(load.KEPT + 4).encode())) == {"number": load.KEPT + 4}


def test_defaults_of_a_dialect_are_those_of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Volume:
        path: str
        mode: str = "old"

    @dataclass(frozen=True)
    class Before(Dialect):
        flavour: str = "old"
        size: str = "s"
        volume: Volume | None = None

    @dataclass(frozen=True)
    class NewVolume(Volume):
        mode: str = "new"

    @dataclass(frozen=True)
    class After(Before):
        flavour: str = "new"
        volume: NewVolume | None = None

    path = tmp_path / "templates/clusters/kumo.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("name: kumo\nscheduler: kumo\nnode: {gpus: 2}\ndialect: {size: 12, volume: {path: /w}}\n")
    for kind, word in ((Before, "old"), (After, "new"), (Before, "old")):
        found = load.load_cluster("kumo", [tmp_path], {"kumo": kind}.get)
        assert found.dialect == {"flavour": word, "size": "12", "volume": {"path": "/w", "mode": word}}


def test_every_shipped_record_survives_json() -> None:
    clusters, _ = registry.list_clusters()
    recipes, _ = load.list_recipes()
    for record in (*clusters, *recipes, Defaults(), Event(title={"ja": "催し"})):
        assert rebuild(type(record), json.loads(json.dumps(asdict(record)))) == record


@pytest.mark.parametrize(
    ("record", "value"),
    [
        (Defaults, {"walltime": "soon"}), (Defaults, {"walltime": True}), (Defaults, {"lang": "fr"}),
        (Defaults, {"x": 1}), (Defaults, None), (Recipe, {"name": "x"}),
        (Cluster, {"name": "x", "scheduler": "pbs", "node": []}),
        (Project, {"name": "x", "parameters": {"a": []}}), (Project, {"name": "x", "metrics": [1]}),
    ],
)  # fmt: skip
def test_values_that_are_no_record(record: type, value: object) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        rebuild(record, value)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**20), st.floats(), st.text(max_size=5),
    st.sampled_from(["auto", "1h", "256 GB", "00:30:00", "torchrun", "en", "int", "median", "\ud800"]),
    st.sampled_from([0, 1, 2**53, 1.5]),
)  # fmt: skip


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of everything in a value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [place for key in keys for place in [(value, key), *_places(value[key])]]


RECORDS = [
    (Cluster, "cluster", "templates/clusters/reedbush-h.yaml"), (Cluster, "cluster", "templates/clusters/slurm.yaml"),
    (Recipe, "recipe", "recipes/torch-ddp/recipe.yaml"), (RuleFile, "rule", "templates/rules/gpu.yaml"),
    (Survey, "survey", "templates/surveys/hackathon.yaml"),
]  # fmt: skip


TYPES: dict[str, type | tuple[type, ...]] = {
    "boolean": bool, "integer": int, "number": (int, float), "string": str, "null": type(None), "object": dict,
    "array": list,
}  # fmt: skip


def accepts(schema: Any, value: Any, top: dict[str, Any]) -> bool:
    """Return whether a schema takes a value, by the words of JSON Schema that ours have."""
    if not isinstance(schema, dict):
        return bool(schema)
    if "$ref" in schema:
        schema = {**top["$defs"][schema["$ref"].rpartition("/")[2]]}
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind in ("integer", "number"))):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "anyOf" in schema and not any(accepts(part, value, top) for part in schema["anyOf"]):
        return False
    if isinstance(value, dict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        return (
            all(name in value for name in schema.get("required", ()))
            and all(accepts(schema.get("propertyNames", True), name, top) for name in value)
            and all(accepts(properties.get(name, more), entry, top) for name, entry in value.items())
        )
    if isinstance(value, list):
        return all(accepts(schema.get("items", True), entry, top) for entry in value)
    return bool("minimum" not in schema or value >= schema["minimum"])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(RECORDS), st.data())
def test_an_editor_takes_what_is_taken_here(which: tuple[type, str, str], data: st.DataObject) -> None:
    """A shipped file, damaged: what its schema says, and the walk that makes the record."""
    kind, name, file = which
    value = json.loads(json.dumps(read_yaml(shipped(*file.split("/"))).value))
    for _ in range(data.draw(st.integers(0, 2))):
        places = _places(value)
        if not places:  # the only entry was removed
            break
        container, key = data.draw(st.sampled_from(places))
        change = data.draw(st.sampled_from(["put", "put", "list", "remove", "rename"]))
        if change == "put" or isinstance(container, list):
            container[key] = data.draw(SCALARS)
        elif change == "list":
            container[key] = [container[key]]
        else:
            taken = container.pop(key)
            if change == "rename":
                container[data.draw(st.sampled_from(["x", "fr", "note", ""]))] = taken
    _, wrong = checked(kind, value)
    schema = json_schema(name)
    assert accepts(schema, value, schema) == all(map(_beyond_a_schema, wrong))


def _beyond_a_schema(mismatch: Mismatch) -> bool:
    """Return whether a schema cannot say this: JSON has no NaN or half letters, and a walltime is a text to it."""
    texts: dict[str, tuple[type, ...]] = {"walltime": (str,), "size": (str, int)}
    if mismatch.rule in texts:
        return isinstance(mismatch.value, texts[mismatch.rule]) and not isinstance(mismatch.value, bool)
    return mismatch.rule in ("not_finite", "not_utf8")
