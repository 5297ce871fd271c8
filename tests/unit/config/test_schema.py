"""Schemas for editors and the table of keys for the reference."""

import json

import pytest

from hackathon.config.schema import RECORDS, field_reference, json_schema
from hackathon.schedulers.registry import BUILT_IN, dialect_types


@pytest.mark.parametrize("name", [*RECORDS, "defaults"])
def test_schemas_are_json_and_refuse_unknown_keys(name: str) -> None:
    schema = json.loads(json.dumps(json_schema(name, dialect_types()), allow_nan=False))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for part in (schema, *schema.get("$defs", {}).values()):
        assert part["additionalProperties"] is False
        assert part["type"] == "object"


def test_schema_of_a_cluster_says_what_its_keys_mean() -> None:
    schema = json_schema("cluster", dialect_types())
    assert schema["required"] == ["name", "scheduler", "node"]
    assert "default walltime" in schema["properties"]["walltime"]["description"]
    assert schema["properties"]["walltime"]["type"] == "string"
    assert schema["$defs"]["PbsDialect"]["properties"]["group"]["enum"] == ["group_list", "project", "account", "none"]
    assert schema["$defs"]["SlurmDialect"]["properties"]["group"]["enum"] == ["account", "none"]
    cases = {case["if"]["properties"]["scheduler"]["const"]: case["then"] for case in schema["allOf"]}
    assert cases["pbs"] == {"properties": {"dialect": {"$ref": "#/$defs/PbsDialect"}}}
    assert set(cases) == set(BUILT_IN)
    assert schema["$defs"]["Queue"]["properties"]["min_nodes"]["minimum"] == 1


def test_defaults_and_user_are_the_same() -> None:
    assert json_schema("defaults") == json_schema("user")


def test_an_unknown_name_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        json_schema("nothing")


@pytest.mark.parametrize("name", RECORDS)
def test_every_key_is_described(name: str) -> None:
    entries = field_reference(name, dialect_types())
    assert [entry.key for entry in entries if not entry.description or not entry.type] == []
    assert len({entry.key for entry in entries}) == len(entries)


def test_reference_of_keys() -> None:
    entries = {entry.key: entry for name in ("cluster", "project") for entry in field_reference(name, dialect_types())}
    assert (
        entries["dialect.group (slurm)"].type == "account | none"
        and "--account" in entries["dialect.group (slurm)"].description
    )
    assert entries["dialect.place (pbs)"].default == "null"
    assert entries["queues.NAME.walltime"].type == "walltime"
    assert entries["stop_before"].default == "00:01:00"
    assert entries["scheduler"].default is None
    assert entries["node.cores"].type == "int | auto"
    assert entries["parameters.NAME.choices"].type == "[bool | int | float | str]"
    assert entries["signal"].default == '"none"'
    assert {entry.key for entry in field_reference("event")} >= {
        "teams[].members[].user",
        "clusters.NAME.budget.tokens",
    }
