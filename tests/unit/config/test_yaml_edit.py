"""Single values of YAML files are changed, and nothing else: every value of every shipped profile."""

import json
from functools import reduce
from itertools import cycle
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.config.evidence import cited_values
from hackathon.config.records import KeyPath
from hackathon.config.yaml import parse_yaml
from hackathon.config.yaml_edit import NotEditableError, inline, remove, set_value
from hackathon.text.paths import shipped

NAMES = sorted(path.stem for path in shipped("templates", "clusters").glob("*.yaml"))
PLACE = Path("x.yaml")


def read(text: str) -> Any:
    return parse_yaml(text.encode("utf-8", "surrogatepass"), PLACE).value


def changed(value: Any, path: KeyPath, new: Any) -> Any:
    """Return plain values with one of them changed; None: removed, with what is empty then."""
    key, *rest = path
    copy = dict(enumerate(value)) if isinstance(value, list) else dict(value)
    below = changed(copy.get(key) or {}, tuple(rest), new) if rest else new
    if below is None or (rest and not below):
        del copy[key]
    else:
        copy[key] = below
    return list(copy.values()) if isinstance(value, list) else copy


@pytest.mark.parametrize("name", NAMES)
def test_each_value_of_a_profile_can_be_changed_and_removed_alone(name: str) -> None:
    text = shipped("templates", "clusters", f"{name}.yaml").read_text()
    profile = read(text)
    others = cycle((7, "a b: c #d", {"nodes": 4, "walltime": "00:30:00"}))
    some = list(cited_values(profile))[NAMES.index(name) % 3 :: 3]  # other ones of the next profile
    for value, new in zip(some, others, strict=False):
        assert read(set_value(text, value.path, new)) == changed(profile, value.path, new)
        gone = remove(text, value.path)
        assert read(gone) == changed(profile, value.path, None)
        assert read(set_value(gone, value.path, value.value)) == profile


@pytest.mark.parametrize("name", NAMES)
def test_lines_of_other_values_stay_as_they_are(name: str) -> None:
    text = shipped("templates", "clusters", f"{name}.yaml").read_text()
    new = set_value(set_value(text, ("node", "gpus"), 3), ("queues", "new"), {"nodes": 2})
    new = set_value(new, ("evidence", "queues.new"), "C")
    lost = [line for line in text.splitlines() if line not in new.splitlines()]
    assert all(line.startswith(("node:", "queues: {}")) for line in lost) and len(lost) <= 2


def test_items_of_lists_are_removed_in_either_way_of_writing() -> None:
    for text in ("a: [x, 'y', z]  # c\nb: 1\n", "a:\n  - x\n  - 'y'  # why\n  - z\nb: 1\n"):
        assert read(remove(text, ("a", 1))) == {"a": ["x", "z"], "b": 1}
        assert read(remove(remove(text, ("a", 2)), ("a", 0))) == {"a": ["y"], "b": 1}
        for _ in range(3):
            text = remove(text, ("a", 0))
        assert read(text) == {"b": 1}
    assert remove("a: 1\n", ("b", "c")) == "a: 1\n"


def test_entries_in_brackets_go_with_one_comma_and_their_own_line() -> None:
    text = "a: {\n  b: 1,  # one\n  c: 2,  # two\n  # of the rest\n  d: 3  # three\n}\n"
    assert remove(text, ("a", "c")) == text.replace("  c: 2,  # two\n", "")
    assert remove(text, ("a", "d")) == text.replace("  d: 3  # three\n", "").replace("2,", "2")
    assert remove("a: {b: 1, c: 2, d: 3,}  # x\n", ("a", "b")) == "a: {c: 2, d: 3,}  # x\n"
    assert remove("a: {b: 1, c: 2, d: 3}  # x\n", ("a", "d")) == "a: {b: 1, c: 2}  # x\n"


def test_text_without_an_end_of_line_and_an_empty_one() -> None:
    assert read(set_value("a: 1", ("b", "c"), 2)) == {"a": 1, "b": {"c": 2}}
    assert read(set_value("# nothing yet\n", ("b",), [1])) == {"b": [1]}
    assert read(set_value("a:\n  b: 1", ("a", "c"), 2)) == {"a": {"b": 1, "c": 2}}
    assert read(set_value("a:\nb: 1\n", ("a", "c"), 2)) == {"a": {"c": 2}, "b": 1}


def test_a_file_that_is_written_as_json_stays_one_mapping() -> None:
    assert read(set_value('{"a": 1}\n', ("v", "A"), "4")) == {"a": 1, "v": {"A": "4"}}
    assert read(set_value('{"a": {}}\n', ("a", "b"), 1)) == {"a": {"b": 1}}
    assert read(set_value('{\n  "a": {"b": 1}\n}\n', ("a", "c", "d"), 2)) == {"a": {"b": 1, "c": {"d": 2}}}
    assert read(set_value("{}\n", ("b",), 2)) == {"b": 2}
    # in a block, an empty mapping becomes a block
    assert set_value("a: {}\nc: 1\n", ("a", "b"), 1) == "a:\n  b: 1\nc: 1\n"


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs", "Cc"]),
                                                                        min_size=1), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(plain)
def test_every_value_on_one_line_is_read_as_it_was(value: Any) -> None:
    text = inline(value)
    assert "\n" not in text and read(f"a: {text}\n") == {"a": value}
    assert read(f"a: {{b: {text}, c: 1}}\n") == {"a": {"b": value, "c": 1}}


@pytest.mark.parametrize(
    "text", ["2026-11-23", "12", "true", "~", "", "a: b", "- x", "#x", "[", "é", "0x1", "1e3", "a,b"]
)
def test_texts_that_look_like_something_else_are_quoted(text: str) -> None:
    assert inline(text).startswith('"') and read(f"a: [{inline(text)}]") == {"a": [text]}
    assert inline("128 GiB") == "128 GiB" and inline("24:00:00") == "24:00:00"


@st.composite
def written(draw: st.DrawFn) -> tuple[str, dict[str, KeyPath]]:
    """Return a file as people write it, and of each comment in it what it stands in or behind."""
    comments: dict[str, KeyPath] = {}
    anchors: list[str] = []

    def comment(path: KeyPath) -> str:
        if draw(st.booleans()):
            return ""
        comments[f"# c{len(comments)}."] = path
        return f"  {list(comments)[-1]}"

    def word() -> str:
        text = draw(st.sampled_from(["1", "'1'", '"x, #y"', "two words", "", "~", "true", "0.5", "[p, 'q', 3]", "{}"]))
        if anchors and draw(st.integers(0, 5)) == 0:
            return f"*{draw(st.sampled_from(anchors))}"
        if text and draw(st.integers(0, 9)) == 0:
            anchors.append(f"n{len(anchors)}")
            return f"&{anchors[-1]} {text}"
        return text

    def names() -> list[str]:
        return draw(st.lists(st.sampled_from("abcde"), min_size=1, max_size=3, unique=True))

    def flow(path: KeyPath) -> str:
        text, keys = "{", names()
        for key in keys:
            below = (*path, key)
            value = flow(below) if len(below) < 3 and draw(st.booleans()) else word()
            text += f"{draw(st.sampled_from([key, json.dumps(key)]))}: {value}"
            more = key != keys[-1] or draw(st.booleans())
            behind = draw(st.sampled_from([", " * more, ",\n      " * more or "\n      "]))
            told = comment(below) if "\n" in behind else ""
            text += behind.replace("\n", f"{told}\n") if draw(st.booleans()) else f"{told}\n      {behind}"
        return text + "}"

    def block(path: KeyPath) -> str:
        text, indent = "", "  " * len(path)
        for key in names():
            below = (*path, key)
            kind = draw(st.sampled_from(["word", "word", "flow", "block", "scalar", "list"]))
            text += f"{indent}{comment((*path, '#')).strip()}\n" * draw(st.booleans()) + f"{indent}{key}:"
            if kind == "block" and len(below) < 3:
                text += f"{comment(below)}\n{block(below)}"
            elif kind == "scalar":
                style = draw(st.sampled_from(["|", ">-", "|+"]))
                text += f" {style}{comment((*below, style))}\n{indent}  some # text\n" + "\n" * draw(st.booleans())
            elif kind == "list":
                items = "".join(
                    f"{indent}- {word() or 1}{comment((*below, n))}\n" for n in range(draw(st.integers(1, 3)))
                )
                text += f"{comment(below)}\n{items}"
            else:
                text += f" {flow(below) if kind == 'flow' else word()}{comment(below)}\n"
        return text

    text = block(()) if draw(st.integers(0, 4)) else flow(()) + "\n"
    text += draw(st.sampled_from(["", "", "", "\n", comment(("#",)).strip(), "...\n"]))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return draw(st.sampled_from(["", "\ufeff"])) + text, comments


def paths(value: Any, path: KeyPath = ()) -> list[KeyPath]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(each for key, entry in entries for each in paths(entry, (*path, key)))]


@given(written(), st.data())
def test_a_change_is_refused_or_changes_nothing_else(file: tuple[str, dict[str, KeyPath]], data: st.DataObject) -> None:
    text, comments = file
    value, new, path = read(text), 7, data.draw(st.sampled_from(paths(read(text))))
    if removed := data.draw(st.booleans()) or not all(isinstance(key, str) for key in path):
        new = None
    elif data.draw(st.booleans()):
        path = (*path[:-1], "new") if reduce(getitem, path, value) else (*path, "new")
    expected = changed(value, path, new)
    try:
        after = remove(text, path) if removed else set_value(text, path, new)
    except NotEditableError:
        assert any(mark in text for mark in ("&", "|+", "...")), "this can be written"
        return
    assert (read(after) or {}) == expected
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    while removed and len(path) > 1 and path[:-1] not in paths(expected):
        path = path[:-1]  # what would be empty is gone too
    lost = [place for comment, place in comments.items() if comment in text and comment not in after]
    assert all(place[: len(path)] == path and (removed or place != path) for place in lost)
