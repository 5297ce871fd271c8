"""The JSON of every command fits its schema, and no field vanishes or changes its type within a version."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

from hackathon.cli import exit_codes
from hackathon.cli.exit_codes import codes_of
from hackathon.cli.json_types import registry
from hackathon.cli.main import build, run
from support.json_scenes import SCENES, SLOW, JsonWorld, build_world
from support.paths import ROOT

SNAPSHOT = Path(__file__).with_name("json_fields.txt")


def leaves(
    command: click.Command, context: click.Context, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Yield (name, command) of every command that is no group."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from leaves(inner, click.Context(inner, info_name=name, parent=context), (*path, name))
    else:
        yield " ".join(path), command


def all_commands() -> dict[str, click.Command]:
    group = build()
    return dict(leaves(group, click.Context(group)))


def with_json() -> list[str]:
    return sorted(
        name for name, command in all_commands().items() if any("--json" in option.opts for option in command.params)
    )


def test_every_command_with_json_has_a_schema_and_a_command_line() -> None:
    assert with_json() == registry.commands() == sorted(SCENES)
    for name in registry.commands():
        jsonschema.Draft202012Validator.check_schema(registry.schema_of(name))


def strict(schema: Any) -> Any:
    """Return a schema that refuses keys that it does not name."""
    if isinstance(schema, list):
        return [strict(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "properties" in schema and "additionalProperties" not in schema else {}
    properties = {name: strict(entry) for name, entry in schema.get("properties", {}).items()}
    return {
        **{name: strict(value) if name != "properties" else properties for name, value in schema.items()}, **more,
    }  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JsonWorld]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield build_world(tmp_path_factory.mktemp("json"), monkeypatch)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in SCENES]
)
def test_output_fits_the_schema(name: str, world: JsonWorld, capsys: pytest.CaptureFixture[str]) -> None:
    check = jsonschema.Draft202012Validator(strict(registry.schema_of(name)))
    for line in SCENES[name]:
        capsys.readouterr()
        code = run([*world.words(line), "--json"])
        told = capsys.readouterr()
        assert code in codes_of(name), f"{line}: exit code {code}, which its help does not name"
        assert told.out, f"{line}: {told.err}"
        value = json.loads(told.out)
        problems = [f"{line}: {error.json_path}: {error.message[:300]}" for error in deepest(check.iter_errors(value))]
        assert not problems, "\n".join(problems)


def deepest(errors: Any) -> Iterator[jsonschema.ValidationError]:
    """Yield errors; of alternatives, the errors of the one that fits best."""
    for error in errors:
        yield jsonschema.exceptions.best_match([error]) if error.context else error


def fields_of(schema: dict[str, Any]) -> dict[str, str]:
    """Return path → type of every field, `?` after those that may be absent."""
    found: dict[str, str] = {}

    def walk(part: dict[str, Any], path: str, seen: tuple[str, ...]) -> str:
        if "$ref" in part:
            name = part["$ref"].rpartition("/")[2]
            return "object" if name in seen else walk(schema["$defs"][name], path, (*seen, name))
        if "anyOf" in part:
            return "|".join(sorted({walk(entry, path, seen) for entry in part["anyOf"]}))
        if "const" in part:
            return f"={part['const']}"
        if "enum" in part:
            return "string"
        if "properties" in part:
            for name, inner in part["properties"].items():
                place = f"{path}.{name}" if path else name
                kind = walk(inner, place, seen) + ("" if name in part["required"] else "?")
                found[place] = "|".join(sorted({*found.get(place, kind).split("|"), *kind.split("|")}))
            return "object"
        if part.get("type") == "array":
            return f"array[{walk(part['items'], f'{path}[]', seen)}]"
        if part.get("type") == "object":
            inner = part.get("additionalProperties")
            return f"map[{walk(inner, f'{path}.*', seen) if isinstance(inner, dict) else 'any'}]"
        kind = part.get("type", "any")
        return kind if isinstance(kind, str) else "|".join(sorted(kind))

    walk(schema, "", ())
    return found


def breaks(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Return the fields that a reader of the old JSON would miss or misread; a new field breaks nothing."""
    return [f"{name}: {kind} → {new.get(name, 'removed')}" for name, kind in old.items() if new.get(name) != kind]


def read_snapshot() -> dict[str, dict[str, str]]:
    commands: dict[str, dict[str, str]] = {}
    for line in SNAPSHOT.read_text().splitlines():
        name, field, kind = line.split("\t")
        commands.setdefault(name, {})[field] = kind
    return commands


def test_no_field_is_removed_or_retyped_without_a_new_version() -> None:
    current = {name: fields_of(registry.schema_of(name)) for name in registry.commands()}
    former = read_snapshot() if SNAPSHOT.exists() else {}
    for name, fields in former.items():
        assert name in current, f"{name} has no JSON any more"
        if fields["schema_version"] == current[name]["schema_version"]:
            wrong = breaks(fields, current[name])
            assert not wrong, f"{name}: raise its version in json_types/registry.py, or keep\n" + "\n".join(wrong)
    lines = [f"{name}\t{field}\t{kind}" for name, fields in current.items() for field, kind in sorted(fields.items())]
    if os.environ.get("HACKATHON_GOLDEN") == "write":
        SNAPSHOT.write_text("\n".join(lines) + "\n")
    assert read_snapshot() == current, "fields were added: HACKATHON_GOLDEN=write keeps them from now on"


def test_a_removed_and_a_retyped_field_are_breaks() -> None:
    old = {"schema_version": "=1", "runs": "array[object]", "runs[].value": "null|number"}
    assert breaks(old, {**old, "more": "string"}) == []
    assert breaks(old, {**old, "runs[].value": "null|string"}) == ["runs[].value: null|number → null|string"]
    assert breaks(old, {name: kind for name, kind in old.items() if name != "runs"}) == [
        "runs: array[object] → removed"
    ]


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "--json-of", "clusters list"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["title"] == "hackathon clusters list --json" and schema["properties"]["schema_version"] == {
        "const": 1
    }
    assert run(["schema", "--json-of", "cluster list"]) == 2
    assert "clusters list" in capsys.readouterr().err
    assert run(["schema"]) == 2


def test_every_help_tells_the_exit_codes() -> None:
    commands = all_commands()
    assert set(exit_codes.OWN) <= set(commands), set(exit_codes.OWN) - set(commands)
    for name, one in commands.items():
        context = click.Context(one, info_name=f"hackathon {name}")
        text = " ".join(one.get_help(context).split())
        assert f"Exit code: {exit_codes.line_of(name)}" in text, name
        told = re.findall(r"(?i)exit (?:code|status)", text.replace(exit_codes.line_of(name), ""))
        assert len(told) == 1, f"{name}: the last line alone tells the exit codes"


def test_the_page_lists_every_meaning_of_an_exit_code() -> None:
    page = (ROOT / "docs" / "reference" / "json.md").read_text()
    for name, codes in exit_codes.OWN.items():
        for code, meaning in codes.items():
            assert f"| `{name}` | {code} | {meaning} |" in page, (name, code)
