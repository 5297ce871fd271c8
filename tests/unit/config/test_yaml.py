"""YAML is read with the scalars of YAML 1.2's core schema, safely, and every value has its line."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import example, given
from hypothesis import strategies as st

from hackathon.config import yaml
from hackathon.config.problems import ConfigError, Problem
from hackathon.config.yaml import parse_yaml, read_yaml

FILE = Path("file.yaml")


def read(text: str | bytes) -> Any:
    return parse_yaml(text if isinstance(text, bytes) else text.encode(), FILE).value


def problem(text: str | bytes) -> Problem:
    with pytest.raises(ConfigError) as refused:
        read(text)
    assert refused.value.exit_code == 2
    assert refused.value.message
    return refused.value.problems[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("True", True), ("TRUE", True), ("false", False), ("False", False), ("FALSE", False),
        ("null", None), ("Null", None), ("NULL", None), ("~", None), ("", None),
        ("0", 0), ("-12", -12), ("+3", 3), ("0o17", 15), ("0xfF", 255), ("1.5", 1.5), ("-.5", -0.5), ("1.", 1.0),
        ("1e3", 1000.0), ("2.5E-3", 0.0025), (".inf", math.inf), ("-.INF", -math.inf),
        # text, although YAML 1.1 sees something else
        ("48:00:00", "48:00:00"), ("1:30", "1:30"), ("007", "007"), ("-07", "-07"), ("1_000", "1_000"),
        ("yes", "yes"), ("No", "No"), ("on", "on"), ("OFF", "OFF"), ("y", "y"), ("tRUE", "tRUE"), ("nULL", "nULL"),
        ("2019-01-24", "2019-01-24"), ("0b11", "0b11"), ("0X1F", "0X1F"), ("0o8", "0o8"), ("=", "="), ("1e", "1e"),
        (". /etc/profile", ". /etc/profile"), ("1.2.3", "1.2.3"), ("００７", "００７"), ("١", "١"), ("<<", "<<"),
        # quoted or tagged
        ("'1'", "1"), ('"true"', "true"), ("''", ""), ("! 1", "1"), ("!!str 1", "1"), ("!!int '3'", 3),
        ("!!float 3", 3.0), ("|\n    a\n    b\n", "a\nb\n"),
    ],
)  # fmt: skip
def test_scalars_follow_the_core_schema(text: str, value: Any) -> None:
    found = read(f"key: {text}\n")["key"]
    assert found == value
    assert type(found) is type(value)


def test_not_a_number() -> None:
    assert math.isnan(read("key: .nan")["key"])


def test_a_number_too_long_for_python_stays_text() -> None:
    assert read("a: " + "9" * 5000)["a"] == "9" * 5000


def test_keys_are_text_as_written() -> None:
    assert read("1: a\ntrue: b\n007: c\n~: d\n1.10: e") == {"1": "a", "true": "b", "007": "c", "~": "d", "1.10": "e"}


def test_every_value_has_its_line() -> None:
    document = parse_yaml(b"# comment\na: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n\ne: |\n  long\n  text\nf: 4\n", FILE)
    assert document.line(("a",)) == 2
    assert document.line(("b", 0)) == 4
    assert document.line(("b", 1, "c")) == 5
    assert document.line(("b", 1, "d")) == 6
    assert document.line(("f",)) == 11
    # what is missing is looked for where it should have been
    assert document.line(("b", 1, "missing")) == 5
    assert document.line(("missing",)) == 1


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "\ufeff"])
def test_an_empty_file_is_nothing(text: str) -> None:
    assert read(text) is None


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    assert read(b"\xef\xbb\xbfname: x") == {"name": "x"}


def test_pairs_of_surrogates_are_the_letter_that_json_means() -> None:
    assert read('{"\\ud83d\\ude00": "a\\uD83D\\uDE00b"}') == {"😀": "a😀b"}


def test_aliases_give_the_same_value() -> None:
    assert read("a: &x [1, {b: 2}]\nc: *x\n") == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}


@pytest.mark.parametrize(
    ("text", "identifier", "line"),
    [
        ("a: 1\nb: 2\na: 3", "config.yaml_duplicate", 3),
        ("a: 1\n'a': 3", "config.yaml_duplicate", 2),
        ("b: {a: 1,\n a: 2}", "config.yaml_duplicate", 2),
        ("a: !!python/object/apply:os.system [id]", "config.yaml_tag", 1),
        ("a: 1\nb: !secret x", "config.yaml_tag", 2),
        ("a: !!binary aGk=", "config.yaml_tag", 1),
        ("a: !!set {x, y}", "config.yaml_tag", 1),
        ("a: !!str [x]", "config.yaml_tag", 1),
        ("a: !!int x", "config.yaml_tag_value", 1),
        ("a: !!timestamp 2019-01-24", "config.yaml_tag", 1),
        ("a: &x [*x]", "config.yaml_alias_loop", 1),
        ("a: *x", "config.yaml_alias_unknown", 1),
        ("base: &b {x: 1}\nc:\n  <<: *b\n", "config.yaml_merge", 3),
        ("? [a, b]\n: c", "config.yaml_key", 1),
        ("a: &x k\n*x : c", "config.yaml_key", 2),
        ("a: 1\n---\nb: 2", "config.yaml_documents", 2),
        ("a:\n\tb: 1", "config.yaml_tab", 2),
        ("a: b: c", "config.yaml_colon", 1),
        ("name： x\na: b\n", "config.yaml_wide_colon", 1),
        ("name:　x\na: b\n", "config.yaml_wide_colon", 1),
        ("a: 1\nname:\u00a0x\n# end\nb: 2", "config.yaml_wide_colon", 2),
        ("a: 1\nb:\n  - x\nname： x\nc: 2\n", "config.yaml_wide_colon", 4),
        ("a: 1\n名前： x\n", "config.yaml_wide_colon", 2),
        # a colon in a text that is right is not to blame
        ("a: |\n  例： x\n]b: c\n", "config.yaml_syntax", 3),
        ("a: some\n  例： x\n@b: c\n", "config.yaml_start", 3),
        ("a: [\n  例： x\n", "config.yaml_syntax", 3),
        ("a： 1\n名前： x\nb: 2", "config.yaml_wide_colon", 1),
        ("a: b\n# 例： x\nb: c: d\n", "config.yaml_colon", 3),
        ('a: 1\nb: "x\\ud800"\n', "config.yaml_surrogate", 2),
        ('a: {"\\udc00x": 1}', "config.yaml_surrogate", 1),
        ("a: @x", "config.yaml_start", 1),
        ("a: `x`", "config.yaml_start", 1),
        ("x: 1\na: [1, 2", "config.yaml_syntax", 2),
        ("a: 'x", "config.yaml_syntax", 1),
        ("%YAML 3.0\n---\na: 1", "config.yaml_syntax", 1),
        ("a: 1\nb: \x07", "config.yaml_character", None),
        (b"a: 1\nb: \xe9t\xe9", "config.not_utf8", 2),
        ("a: x".encode("utf-16"), "config.not_utf8", 1),
        (b"\x00", "config.yaml_character", None),
    ],
)
def test_what_is_refused_says_why_and_where(text: str | bytes, identifier: str, line: int | None) -> None:
    found = problem(text)
    assert found.id == identifier
    if line is not None:
        assert found.line == line


def test_all_duplicate_keys_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        read("a: 1\na: 2\nb: 3\nb: 4\n")
    assert [(each.line, each.key) for each in refused.value.problems] == [(2, "a"), (4, "b")]


def test_alias_bombs_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert problem("\n".join(lines)).id == "config.yaml_values"


def test_aliases_can_not_nest_deeper_than_the_limit() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 100)]
    assert problem("\n".join(lines)).id == "config.yaml_depth"


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_depth_is_limited(opening: str) -> None:
    assert problem(opening * 200_000).id == "config.yaml_depth"


def test_size_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"# " + b"x" * (1 << 20))
    with pytest.raises(ConfigError) as refused:
        read_yaml(path)
    assert refused.value.problems[0].id == "config.file_too_large"


@pytest.mark.slow
def test_many_values_are_refused() -> None:
    assert problem("[" + "1," * 60_000 + "1]").id == "config.yaml_values"


def test_a_missing_file_and_a_folder_are_problems(tmp_path: Path) -> None:
    for path, identifier in ((tmp_path / "none.yaml", "config.file_missing"), (tmp_path, "config.file_unreadable")):
        with pytest.raises(ConfigError) as refused:
            read_yaml(path)
        assert refused.value.problems[0].id == identifier


def test_pyyaml_without_libyaml_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x [1, '2', 0o7]\nb: *x\nc: {d: 48:00:00, e: !!str 5}\n"
    expected = parse_yaml(text.encode(), FILE)
    monkeypatch.setattr(yaml, "_FAST", None)
    found = parse_yaml(text.encode(), FILE)
    assert (found.value, found.places, found.words) == (expected.value, expected.places, expected.words)
    assert problem("a: !!python/name:os.system x").id == "config.yaml_tag"
    assert problem("a: @x").id == "config.yaml_start"
    assert problem("a: \x07").id == "config.yaml_character"


YAML_PIECES = st.lists(
    st.sampled_from(
        ["a: ", "b", "- ", "\n", "  ", "[", "]", "{", "}", ",", "&x ", "*x", "!!int ", "!t ", "'", '"', "|", ">", "\t",
         "#", "? ", ": ", "---", "...", "%", "<<: ", "1", "true", "\\", "日本", "\x00", "\ud7ff", "\u2028", "@", "`"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@given(YAML_PIECES)
@example("a: [b?c]\n")
@example("a: {b? c}\n")
@example("a\tb: c\n")
@example("a: >#b\n")
@example("a: b\n\ufeff")
def test_both_parsers_agree_on_what_is_right_and_what_is_wrong_where(text: str) -> None:
    def outcome() -> Any:
        try:
            document = parse_yaml(text.encode("utf-8", "surrogatepass"), FILE)
        except ConfigError as error:
            return [str(each) for each in error.problems]
        return document.value, document.places, document.words

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "_FAST", None)
        expected = outcome()
    # repr: not-a-number is not equal to itself
    assert repr(outcome()) == repr(expected)


@pytest.mark.skipif(not pyyaml.__with_libyaml__, reason="PyYAML was built without libyaml")
def test_libyaml_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyyaml, "SafeLoader", None)
    assert read("a: {b: [1, 'two?']}") == {"a": {"b": [1, "two?"]}}


@given(
    st.one_of(
        st.text().map(lambda text: text.encode("utf-8", "surrogatepass")), st.binary(), YAML_PIECES.map(str.encode)
    )
)
def test_any_bytes_give_a_value_or_a_config_error(raw: bytes) -> None:
    try:
        parse_yaml(raw, FILE)
    except ConfigError as error:
        assert error.message
        assert all(each.line is None or each.line >= 1 for each in error.problems)


PLAIN = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False),
        st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=8), inner, max_size=4),
    ),
    max_leaves=15,
)


@given(PLAIN)
def test_what_pyyaml_writes_with_quotes_is_read_back(value: Any) -> None:
    class Quoting(pyyaml.SafeDumper):
        """Texts in quotes, because YAML 1.1 and 1.2 differ in which texts need them; no anchors."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))
    text = pyyaml.dump(value, Dumper=Quoting, allow_unicode=False)
    assert read(text) == value
