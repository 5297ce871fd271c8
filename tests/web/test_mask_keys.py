"""Names of people and machines may be words of our own records: `max`, `n`, `value`. Masking leaves the keys alone."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from hackathon.web.masking.mask import Mask
from support.planned_event import PlannedEvent, PlannedRun, PlannedStudy, write_event
from support.readers import Readers, allow

STUDY = PlannedStudy((
    PlannedRun(1, rates=(100.0,)), PlannedRun(2, rates=(190.0,)), PlannedRun(2, rates=(180.0,)),
    PlannedRun(4, "FAILED"),
))  # fmt: skip


def keys_of(value: Any) -> Iterator[str]:
    """Yield every key in a JSON value."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from keys_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from keys_of(each)


def shape(value: Any) -> Any:
    """Return the keys of a JSON value, nested as it is."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    return [shape(each) for each in value] if isinstance(value, list) else None


def published(place: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return every JSON value that a site gives out where accounts, hosts and persons have these names."""
    readers = Readers(write_event(place / "planned", PlannedEvent((STUDY,), (PlannedRun(1),))), place)
    allow(readers.event, teams=False, runs="all", crates=True)
    path = readers.event.folder / "hackathon.yaml"
    event = yaml.safe_load(path.read_text("utf-8"))
    accounts = [{"user": name, "name": "Ada"} for name in names]
    persons = [{"user": f"member{number}", "name": name} for number, name in enumerate(names)]
    event["teams"][0]["members"] += [*accounts, *persons]
    path.write_text(yaml.safe_dump(event), "utf-8")
    for run in readers.event.runs:
        for name in names:
            (run.path / "env" / f"{name}.json").write_text(json.dumps({"host": name, "python": "3.11"}))
    study = readers.event.studies[0]
    crates = [crate for run in readers.event.runs if (crate := readers.crate(run.id)) is not None]
    return {"study": readers.site_json(study), "all": readers.site_all()[0], "crate": crates[0]}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def test_no_key_of_ours_is_masked(place: Path) -> None:
    plain = published(place / "plain", ())
    keys = sorted({*keys_of(plain)})
    assert {"max", "n", "value", "runs", "status", "metrics"} <= set(keys)
    found = published(place / "named", keys)
    offenders = sorted(set(keys) - set(keys_of(found)))
    assert not offenders
    assert {name: shape(value) for name, value in found.items()} == {name: shape(each) for name, each in plain.items()}
    assert found["study"]["points"][0]["spread"] == {"min": 100.0, "max": 100.0, "stdev": None, "n": 1}


def test_a_key_that_is_no_word_of_ours_is_masked() -> None:
    mask = Mask(users=["tanaka", "max"])
    found = mask.value({"max": "by max", "tanaka": 1, "password": "geheim"})
    assert found == {"max": "by user", "user": 1, "password": "[removed]"}
