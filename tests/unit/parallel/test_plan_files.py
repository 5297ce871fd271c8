"""graph.json and devices.json: what is read, and what is refused with the field that is wrong."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.cli.main import run
from hackathon.parallel.plan.devices import Devices, devices_of
from hackathon.parallel.plan.graph import graph_of
from hackathon.text.errors import RequestError
from support.plan_oracle import random_devices, random_graph

GRAPH: dict[str, Any] = {
    "schema_version": 1,
    "operators": [
        {"name": name, "forward": 1, "backward": 2, "parameters": 8, "saved": 3, "workspace": 1} for name in "abc"
    ],
    "edges": [{"from": "a", "to": "b", "bytes": 4}, {"from": "b", "to": "c", "bytes": 4}],
    "aliases": [{"operators": ["a", "c"], "bytes": 8}],
    "glued": [["a", "b"]],
}
DEVICES: dict[str, Any] = {"count": 2, "memory": 1000, "bandwidth": 10}


def refused(change: Any, base: dict[str, Any] = GRAPH) -> str:
    """Return the message with which a changed file is refused."""
    value = copy.deepcopy(base)
    change(value)
    with pytest.raises(RequestError) as error:
        graph_of(value, "graph.json") if base is GRAPH else devices_of(value, "devices.json")
    assert error.value.exit_code == 2
    return str(error.value)


def put(*keys: Any) -> Any:
    """Return a change that puts the last argument at the place that the others name."""

    def change(value: Any) -> None:
        for key in keys[:-2]:
            value = value[key]
        value[keys[-2]] = keys[-1]

    return change


@pytest.mark.parametrize("name", ["forward", "backward", "parameters", "saved", "workspace", "frozen", "buffers"])
@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), True, "1", None, [1], 10**400, 1e31])
def test_every_number_of_an_operator_is_checked(name: str, bad: object) -> None:
    assert f"graph.json: operators[1].{name}: " in refused(put("operators", 1, name, bad))


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        (put("operators", 2, "name", "a"), "operators[2].name", "a is listed twice"),
        (put("operators", 0, "name", ""), "operators[0].name", "must be a text"),
        (put("operators", 0, "name", "\ud800"), "operators[0].name", "must be a text"),
        (put("operators", []), "operators", "must not be empty"),
        (put("operators", {"a": 1}), "operators", "must be a list"),
        (put("operators", 0, "worspace", 3), "operators[0].worspace", "did you mean workspace?"),
        (put("edges", 0, "to", "zz"), "edges[0].to", "no operator is named zz"),
        (put("edges", 0, "bytes", -1), "edges[0].bytes", "must not be negative"),
        (put("edges", 0, "gradient_bytes", float("nan")), "edges[0].gradient_bytes", "must be a finite number"),
        (put("edges", 1, "to", "a"), "edges", "cycle"),
        (put("edges", 1, "to", "b"), "edges", "cycle"),
        (put("aliases", 0, "bytes", 9), "aliases[0].bytes", "larger than the parameters of operator a"),
        (put("aliases", 0, "operators", ["a", "a"]), "aliases[0].operators[1]", "listed twice"),
        (put("aliases", 0, "operators", ["x"]), "aliases[0].operators[0]", "no operator is named x"),
        (put("glued", 0, []), "glued[0]", "must not be empty"),
        (put("glued", 0, [3]), "glued[0][0]", "must be a text"),
        (put("schema_version", 2), "schema_version", "only schema version 1"),
    ],
)
def test_a_wrong_graph_is_refused_with_its_field(change: Any, field: str, problem: str) -> None:
    text = refused(change)
    assert text.startswith(f"graph.json: {field}: ") and problem in text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (put("count", 0), "count"), (put("count", 1.5), "count"), (put("count", True), "count"),
        (put("count", 10**9), "count"), (put("memory", 0), "memory"), (put("bandwidth", 0), "bandwidth"),
        (put("latency", -1e-9), "latency"), (put("allreduce_bandwidth", 0), "allreduce_bandwidth"),
        (put("host_bandwidth", "fast"), "host_bandwidth"), (put("bandwith", 3), "bandwith"),
        (put("optimizer_bytes_per_parameter_byte", -2), "optimizer_bytes_per_parameter_byte"),
        (put("devices_per_node", 0), "devices_per_node"),
    ],
)  # fmt: skip
def test_wrong_devices_are_refused_with_their_field(change: Any, field: str) -> None:
    assert refused(change, DEVICES).startswith(f"devices.json: {field}: ")


def test_a_graph_says_the_same_in_any_order_and_with_defaults() -> None:
    dice = random.Random(1)
    shuffled = copy.deepcopy(GRAPH)
    for rows in (shuffled["operators"], shuffled["edges"], shuffled["aliases"][0]["operators"], shuffled["glued"][0]):
        dice.shuffle(rows)
    one, other = graph_of(GRAPH, "g"), graph_of(shuffled, "g")
    assert one == other and one.identity == other.identity
    changed = copy.deepcopy(GRAPH)
    changed["operators"][0]["saved"] = 4
    assert graph_of(changed, "g").identity != one.identity
    assert [each.gradient_bytes for each in one.tensors] == [4, 4]
    changed["operators"][0]["backward"] = 0
    assert [each.gradient_bytes for each in graph_of(changed, "g").tensors] == [0, 4]


def test_edges_of_one_operator_carry_one_tensor() -> None:
    graph = copy.deepcopy(GRAPH)
    graph["edges"] += [{"from": "a", "to": "c", "bytes": 9}, {"from": "a", "to": "b", "bytes": 2}]
    (tensor, _) = graph_of(graph, "g").tensors
    assert (tensor.readers, tensor.bytes, tensor.gradient_bytes) == ((1, 2), 9, 9)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), junk=JUNK)
def test_anything_that_is_not_a_graph_is_refused(seed: int, junk: Any) -> None:
    """A value anywhere in the files is replaced by anything: they are read, or refused with exit code 2."""
    dice = random.Random(seed)
    graph = random_graph(dice, 3, branched=True, aliases=True)
    devices = random_devices(dice, 2, graph)
    for read, value in ((graph_of, graph), (devices_of, devices)):
        place: Any = value
        while True:
            key = dice.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if dice.random() < 0.4 or not isinstance(place[key], (dict, list)) or not place[key]:
                break
            place = place[key]
        place[key] = junk
        try:
            read(value, "file.json")
        except RequestError as error:
            assert error.exit_code == 2 and str(error).startswith("file.json: ")


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"operators": 1' + b"0" * 5000 + b"}", b"null"]
)
def test_a_file_that_is_not_json_ends_with_exit_code_2(
    text: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "graph.json").write_bytes(text)
    (tmp_path / "devices.json").write_text(json.dumps(DEVICES))
    words = ["--graph", str(tmp_path / "graph.json"), "--devices", str(tmp_path / "devices.json")]
    assert run(["plan", *words, "--micro-batches", "2"]) == 2
    assert "graph.json" in capsys.readouterr().err


def test_more_stages_than_the_model_has_parts_are_not_said_to_lack_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, devices = tmp_path / "graph.json", tmp_path / "devices.json"
    graph.write_text(json.dumps(GRAPH))
    devices.write_text(json.dumps({**DEVICES, "count": 8, "memory": 1e9}))
    for asked in (["--stages", "3"], ["--replicas", "1,1,1"], ["--stages", "8", "--replicas", "1"]):
        argv = ["plan", "--graph", str(graph), "--devices", str(devices), "--micro-batches", "8", *asked]
        assert run(argv) == 1
        told = capsys.readouterr().err
        assert "it has 2 parts" in told and "memory" not in told, told


def test_devices_that_name_one_bandwidth_reduce_with_it() -> None:
    assert Devices(4, 1e9, 1e10).allreduce_bandwidth == 1e10
    assert Devices(4, 1e9, 1e10, 0.0, 1e9).allreduce_bandwidth == 1e9
