"""The grid of a study: what may vary, how values are written, and that every combination comes once."""

import itertools
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.jobs.grid import MOST, OPTIONS, Axis, combinations, grid, read_axes
from hackathon.jobs.render import render
from hackathon.jobs.request import Options
from hackathon.jobs.resolve import Sources
from hackathon.jobs.settings import point_key, settings_text, values_of, written
from hackathon.jobs.sources import gather
from hackathon.text.errors import RequestError

PROJECT = {
    "name": "toy",
    "command": "python train.py --lr {lr} --batch {batch} --name {name} --fast {fast} --queue {queue}",
    "cluster": "laptop",
    "parameters": {
        "lr": {"default": 0.1, "type": "float", "max": 10},
        "batch": {"default": 64, "type": "int"},
        "name": {"default": "a", "type": "str"},
        "fast": {"default": False, "type": "bool"},
        "queue": {"default": "x", "type": "str"},
    },
    "scaling": {"weak": {"scale_learning_rate": "lr"}, "strong": {"divide": "batch"}},
}
words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs", "Cc"]), max_size=20)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder = tmp_path_factory.mktemp("toy")
    (folder / "project.yaml").write_text(json.dumps(PROJECT))
    (folder / "train.py").write_text("")
    return gather(None, Options(), {}, folder)


def refused(sources: Sources, *texts: str) -> RequestError:
    with pytest.raises(RequestError) as caught:
        read_axes(texts, sources)
    return caught.value


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1, max_size=6))
def test_values_are_read_back_as_they_were_written(values: list[str]) -> None:
    assert values_of(written(values)) == values


@given(st.lists(words, min_size=1, max_size=6))
def test_values_of_an_environment_variable_reach_the_axis_whole(sources: Sources, values: list[str]) -> None:
    (axis,) = read_axes([f"env.NCCL_ALGO={written(values)}"], sources)
    assert list(axis.values) == list(dict.fromkeys(values))


@settings(max_examples=40, deadline=None)
@given(words)
def test_values_of_an_environment_variable_reach_the_program_literally(sources: Sources, value: str) -> None:
    (cell,) = grid(sources, [Axis("env.X", (value,))], [1], "weak")
    assert cell.request.origins["variables.X"] == "command line"
    block = "\n".join(
        line for line in render(cell.request, sources.cluster).job.splitlines() if line.startswith("HK_VARIABLES=")
    )
    loop = 'for line in "${HK_VARIABLES[@]}"; do eval "export ${line%%=*}=\\"${line#*=}\\""; done; printf %s "$X"'
    said = subprocess.run(
        ["bash", "-c", f"{block}\n{loop}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert said.stdout.decode() == value


def _value(name: str, number: int) -> str | int | float:
    if name == "lr":
        return float(number + 1)
    return f"v{number}" if name.startswith("env.") else 4 * (number + 1)


axes_of_a_grid = st.lists(
    st.tuples(st.sampled_from(["lr", "batch", "threads", "env.A", "env.B"]), st.integers(1, 4)),
    max_size=4,
    unique_by=lambda each: each[0],
)


@settings(max_examples=60, deadline=None)
@given(
    axes_of_a_grid, st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=4), st.sampled_from(["weak", "strong"])
)
def test_a_grid_has_every_combination_once_and_in_order(
    sources: Sources, chosen: list[tuple[str, int]], counts: list[int], mode: str
) -> None:
    axes = [Axis(name, tuple(_value(name, number) for number in range(count))) for name, count in chosen]
    cells = grid(sources, axes, counts, mode)
    sizes = sorted(set(counts))
    expected = [(values, size) for values in itertools.product(*(axis.values for axis in axes)) for size in sizes]
    assert [(tuple(cell.settings.values()), cell.request.processes) for cell in cells] == expected
    assert all(list(cell.settings) == [axis.name for axis in axes] for cell in cells)
    assert len({cell.key for cell in cells}) == len(cells)
    assert [cell.settings for cell in cells[:: len(sizes)]] == combinations(axes)
    for cell in cells:  # the rule of the mode holds within each combination
        if mode == "weak":
            assert cell.request.parameters["lr"] == cell.settings.get("lr", 0.1) * cell.request.processes  # type: ignore[operator]
        else:
            assert cell.request.parameters["batch"] == cell.settings.get("batch", 64) // cell.request.processes  # type: ignore[operator]


def test_without_axes_the_points_are_those_of_a_study_of_sizes(sources: Sources) -> None:
    cells = grid(sources, [], [4, 1, 2, 2], "weak")
    assert [(cell.key, dict(cell.settings)) for cell in cells] == [("1", {}), ("2", {}), ("4", {})]


def test_values_have_the_declared_type_and_count_once(sources: Sources) -> None:
    (rates,) = read_axes(["lr=0.1,1e-1,0.10,1"], sources)
    assert rates == Axis("lr", (0.1, 1.0))
    assert read_axes(["fast=yes,off,true"], sources) == [Axis("fast", (True, False))]
    assert read_axes(["walltime=90m,01:30:00,2h"], sources) == [Axis("walltime", ("01:30:00", "02:00:00"))]
    assert read_axes(["name=,x"], sources) == [Axis("name", ("", "x"))]


def test_each_option_of_the_list_decides_the_request(sources: Sources) -> None:
    values = {"launcher": "torchrun", "queue": "q", "group": "g", "reservation": "r", "processes_per_node": 2,
              "threads": 3, "walltime": "00:20:00"}  # fmt: skip
    assert set(values) == set(OPTIONS)
    for name, value in values.items():
        shown = f"options.{name}" if name == "queue" else name
        (axis,) = read_axes([f"{shown}={value}"], sources)
        (cell,) = grid(sources, [axis], [2], "weak")
        found = getattr(cell.request, name)
        assert found == (1200 if name == "walltime" else value), name
        assert dict(cell.settings) == {shown: value}


def test_a_name_of_both_kinds_has_to_be_told_apart(sources: Sources) -> None:
    assert refused(sources, "queue=a,b").id == "grid.ambiguous"
    (axis,) = read_axes(["parameters.queue=a,b"], sources)
    cells = grid(sources, [axis], [1], "weak")
    assert [cell.request.parameters["queue"] for cell in cells] == ["a", "b"]
    assert {cell.request.queue for cell in cells} == {None}


@pytest.mark.parametrize(
    ("text", "identifier", "word"),
    [
        ("lrr=1", "grid.unknown_near", "did you mean lr?"),
        ("processes-per-nod=1", "grid.unknown_near", "did you mean processes_per_node?"),
        ("zzz=1", "grid.unknown", "env.NAME"),
        ("lr", "grid.bad_axis", "NAME=VALUE"),
        ("lr=", "grid.bad_axis", "NAME=VALUE"),
        ("=1", "grid.bad_axis", "NAME=VALUE"),
        ('lr="1', "grid.bad_values", "comma"),
        ("lr=0.1,", "jobs.parameter_type", "lr"),
        ("lr=fast", "jobs.parameter_type", "fast"),
        ("lr=nan", "jobs.parameter_high", "nan"),
        ("lr=11", "jobs.parameter_high", "11"),
        ("threads=0", "grid.bad_value", "threads"),
        ("walltime=soon", "grid.bad_value", "walltime"),
        ("launcher=mpi", "grid.bad_launcher", "mpirun"),
        ("env.HK_NODES=1", "grid.bad_variable", "HK_"),
        ("env.a-b=1", "grid.bad_variable", "letters"),
        ("env.=1", "grid.bad_variable", "letters"),
    ],
)
def test_what_cannot_vary_is_refused(sources: Sources, text: str, identifier: str, word: str) -> None:
    error = refused(sources, text)
    assert error.id == identifier and error.exit_code == 2
    assert word in f"{error.message}\n{error.hint}"


def test_a_setting_is_either_fixed_or_varied_and_once(sources: Sources) -> None:
    fixed = replace(sources, options=Options(parameters={"lr": "1"}, launcher="mpirun"))
    assert refused(fixed, "lr=0.1,0.2").id == refused(fixed, "launcher=srun").id == "grid.fixed"
    assert refused(sources, "lr=0.1", "parameters.lr=0.2").id == "grid.twice"


def test_a_grid_has_a_limit_before_anything_is_resolved(sources: Sources) -> None:
    axis = Axis("env.N", tuple(str(number) for number in range(MOST)))
    with pytest.raises(RequestError) as caught:
        grid(sources, [axis], [1, 2], "weak")
    assert caught.value.id == "grid.too_large"


scalars = st.one_of(words, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())


@given(st.dictionaries(words, scalars, min_size=1, max_size=4), st.integers(1, 10**6))
def test_keys_depend_on_settings_alone(chosen: dict[str, str | int | float | bool], processes: int) -> None:
    key = point_key(processes, chosen)
    assert key == point_key(processes, dict(reversed(chosen.items()))) != point_key(processes + 1, chosen)
    assert point_key(processes, {}) == str(processes)
    assert key.split("-")[0] == str(processes) and len(key.split("-")[1]) == 8


def test_settings_read_as_they_are_written_on_the_command_line() -> None:
    assert (
        settings_text({"lr": 0.1, "fast": True, "env.X": "a,b", "env.Y": ""})
        == 'lr=0.1, fast=true, env.X="a,b", env.Y=""'
    )


def test_the_folder_is_not_touched(sources: Sources) -> None:
    grid(sources, read_axes(["lr=0.1,0.2"], sources), [1, 2], "weak")
    assert sorted(path.name for path in Path(sources.folder).iterdir()) == ["project.yaml", "train.py"]


@pytest.mark.parametrize(
    ("strong", "batches"), [({"divide": "batch"}, [64, 32]), ({"by_program": True}, [64, 64]), ({}, None)]
)
def test_strong_scaling_by_the_toolkit_or_by_the_program(
    tmp_path: Path, strong: dict[str, object], batches: list[int] | None
) -> None:
    (tmp_path / "project.yaml").write_text(json.dumps({**PROJECT, "scaling": {"strong": strong}}))
    (tmp_path / "train.py").write_text("")
    sources = gather(None, Options(), {}, tmp_path)
    if batches is None:
        with pytest.raises(RequestError, match="strong scaling"):
            grid(sources, [], [1, 2], "strong")
        return
    cells = grid(sources, [], [1, 2], "strong")
    assert [cell.request.parameters["batch"] for cell in cells] == batches
    assert {cell.request.mode for cell in cells} == {"strong"}
