"""Rules for failures: files are checked, found along the search path, and every shipped rule knows its examples."""

import functools
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.cli.main import run
from hackathon.config import rule_files
from hackathon.config.literals import SHORTEST, PatternError, analysed, compiled
from hackathon.config.problems import ConfigError
from hackathon.config.rule import Part, Rule
from hackathon.config.schema import json_schema
from hackathon.diagnosis import diagnose
from hackathon.diagnosis.matcher import ENGINES
from hackathon.diagnosis.rules import check_files, where_of
from hackathon.diagnosis.scan import Scanner, rule_set
from hackathon.text.messages import set_language
from hackathon.text.paths import shipped

FILES = sorted(shipped("templates", "rules").glob("*.yaml"))
JAPANESE = re.compile(r"[぀-ヿ一-鿿]")
GOOD = """rules:
  - id: our-disk
    part: filesystem
    level: root
    title: {en: "The disk of {host} is full", ja: "{host} のディスクがいっぱいです"}
    patterns:
      - text: quota of the group is used up
      - regex: 'only (?P<left>[0-9]+ MB) left on'
        ignore_case: true
    causes:
      - text: Old checkpoints
        check: du -sh checkpoints
    advice: Delete something.
    sample: {text: "write: quota of the group is used up", source: seen here}
    variants:
      - text: "ONLY 3 MB left on /lustre"
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@functools.cache
def rules_by_file() -> dict[Path, list[Rule]]:
    """Return the shipped rules; reading them takes seconds, so that it is done once."""
    return {file: rule_files.load_rule_file(file) for file in FILES}


def rules_of_shipped() -> list[Rule]:
    return [rule for rules in rules_by_file().values() for rule in rules]


def problems_of(folder: Path, text: str) -> dict[str, str]:
    """Return key → message id of a wrong file of rules."""
    with pytest.raises(ConfigError) as refused:
        rule_files.load_rule_file(write(folder / "rules.yaml", text))
    return {problem.key: problem.id for problem in refused.value.problems}


def one(patterns: str) -> str:
    return f"rules: [{{id: x, part: gpu, level: root, title: x, patterns: {patterns}}}]"


@pytest.fixture(scope="module")
def scanners() -> dict[str, Scanner]:
    found = rules_of_shipped()
    return {engine: Scanner(found, engine) for engine in ENGINES}


def test_the_shipped_files_are_complete() -> None:
    """Keys, patterns, both languages, a sourced sample, another wording, names of rules and checks, placeholders."""
    assert [str(problem) for problem in check_files(FILES, rules_of_shipped())] == []


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_every_example_is_recognised_by_every_search(file: Path, scanners: dict[str, Scanner]) -> None:
    for rule in rules_by_file()[file]:
        for example in [rule.sample, *rule.variants]:
            if example is None or not rule.patterns or rule.fact:
                continue
            # test_matcher.py compares the searches over composed logs
            searches = list(scanners.values()) if example is rule.sample else [scanners["ahocorasick"]]
            first, *others = [scanner.scan_text(example.text) for scanner in searches]
            assert rule.id in {hit.rule.id for hit in first}, (rule.id, example.text)
            assert all(other == first for other in others), rule.id


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_every_example_is_recognised_with_a_launchers_prefix(file: Path, scanners: dict[str, Scanner]) -> None:
    for rule in rules_by_file()[file]:
        for example in rule.variants:
            tagged = "".join(f"[1,3]<stderr>:{line}\n" for line in example.text.splitlines())
            if rule.patterns and not rule.fact:
                hits = [hit for hit in scanners["ahocorasick"].scan_text(tagged) if hit.rule.id == rule.id]
                assert hits, (rule.id, tagged)


def test_there_are_rules_for_every_part() -> None:
    found = rules_of_shipped()
    assert len(found) >= 60
    assert {rule.part for rule in found} == set(get_args(Part))
    assert len({rule.id for rule in found}) == len(found)


def test_texts_are_in_the_languages_they_say() -> None:
    for rule in rules_of_shipped():
        for text in [rule.title, rule.advice, *(cause.text for cause in rule.causes)]:
            assert isinstance(text, dict), rule.id
            assert not JAPANESE.search(text["en"]), (rule.id, text)
            # what a program itself said is in no language
            assert JAPANESE.search(text["ja"]) or text["ja"] == text["en"] == "{what}", (rule.id, text)
            assert sorted(re.findall(r"\{\w+\}", text["en"])) == sorted(re.findall(r"\{\w+\}", text["ja"])), rule.id


def test_the_nearest_rule_of_an_id_counts(tmp_path: Path, own_home: Path) -> None:
    project, event = tmp_path / "project", tmp_path / "event"
    shipped_rules = {rule.id: rule for rule in rules_of_shipped()}
    write(project / "templates/rules/ours.yaml", GOOD)
    write(
        event / "templates/rules/theirs.yaml", GOOD.replace("root", "likely") + GOOD[7:].replace("our-disk", "second")
    )
    write(own_home / "config/hackathon/rules/mine.yaml", GOOD.replace("our-disk", "gpu-out-of-memory"))
    found, problems = rule_files.load_rules([project, event])
    assert problems == []
    by_id = {rule.id: rule for rule in found}
    assert by_id["our-disk"].level == "root" and by_id["second"].level == "root"
    assert by_id["gpu-out-of-memory"].part == "filesystem" != shipped_rules["gpu-out-of-memory"].part
    assert set(by_id) == {*shipped_rules, "our-disk", "second"}


def test_a_broken_file_is_told_and_hides_nothing(tmp_path: Path) -> None:
    write(tmp_path / "templates/rules/a.yaml", "rules: [")
    write(tmp_path / "templates/rules/b.yaml", GOOD)
    write(tmp_path / "templates/rules/c.yaml", GOOD)
    found, problems = rule_files.load_rules([tmp_path])
    assert "our-disk" in {rule.id for rule in found}
    assert [(problem.file.name, problem.id) for problem in problems] == [
        ("a.yaml", "config.yaml_syntax"), ("c.yaml", "rules.id_elsewhere"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("patterns", "wanted"),
    [
        ("[{text: a message, regex: a message}]", {"rules[1].patterns[1]": "rules.text_or_regex"}),
        ("[{}]", {"rules[1].patterns[1]": "rules.text_or_regex"}),
        ("[{text: ' '}]", {"rules[1].patterns[1]": "rules.text_or_regex"}),
        ("[{regex: '('}]", {"rules[1].patterns[1].regex": "rules.regex_wrong"}),
        ("[{regex: 'foo(?!bar)bazqux'}]", {"rules[1].patterns[1].regex": "rules.regex_construct"}),
        ("[{regex: '(?<=ab)bazqux'}]", {"rules[1].patterns[1].regex": "rules.regex_construct"}),
        (r"[{regex: '(\w)bazqux\1'}]", {"rules[1].patterns[1].regex": "rules.regex_construct"}),
        ("[{regex: '^bazqux'}]", {"rules[1].patterns[1].regex": "rules.regex_construct"}),
        ("[{regex: '(bazqux$)+'}]", {"rules[1].patterns[1].regex": "rules.regex_construct"}),
        ("[{regex: 'abcd|bazqux'}]", {"rules[1].patterns[1].regex": "rules.pattern_short"}),
        (r"[{regex: '\w+ [a-z]+'}]", {"rules[1].patterns[1].regex": "rules.pattern_short"}),
        ("[{text: oom}]", {"rules[1].patterns[1].text": "rules.pattern_short"}),
        ("[{text: bazqux, ignore: true}]", {"rules[1].patterns[1].ignore": "config.unknown_key_near"}),
        ("[]", {"rules[1]": "rules.nothing_to_find"}),
    ],
)
def test_patterns_that_are_refused(tmp_path: Path, patterns: str, wanted: dict[str, str]) -> None:
    assert problems_of(tmp_path, one(patterns)) == wanted


def test_other_mistakes_of_a_rule(tmp_path: Path) -> None:
    text = (
        "rules:\n- {id: Our_Disk, part: gpu, level: root, title: x, fact: 'state:TIMEOUT'}\n"
        "- {id: a, part: gpu, level: root, title: x, fact: timeout}\n"
        "- {id: a, part: gpu, level: root, title: x, fact: 'state:TIMEOUT', patterns: [{text: some words}]}\n"
    )
    assert problems_of(tmp_path, text) == {
        "rules[1].id": "rules.id_signs",
        "rules[2].fact": "rules.fact_name",
        "rules[3].id": "rules.id_twice",
        "rules[3].fact": "rules.fact_and_patterns",
    }
    wrong = problems_of(tmp_path, "rules: [{id: a, part: gpus, level: bad, title: x, patterns: [{text: some words}]}]")
    assert wrong == {"rules[1].part": "config.choice_near", "rules[1].level": "config.choice"}


@pytest.mark.parametrize(
    ("regex", "literals"),
    [
        (r"out\s+of memory", [("out of memory", False)]),
        (r"(?:foobar|bazqux)s? x", [("foobar", False), ("bazqux", False)]),
        (r"(?i)Hello World", [("Hello World", True)]),
        (r"x(?i:abcdefg)y", [("abcdefg", True)]),
        (r"No module named '(?P<module>[\w.]+)'", [("No module named '", False)]),
        (r"[Ff]ailed to connect", [("ailed to connect", False)]),
        (r"(?:abcdef){2,}x?", [("abcdef", False)]),
        (r"(?:abcdef)?uvwxyz", [("uvwxyz", False)]),
        (r"abc\b.{0,9}defghi", [("defghi", False)]),
        (r"abc\s+ \s+def", [("abc def", False)]),
    ],
)
def test_words_that_every_match_has(regex: str, literals: list[tuple[str, bool]]) -> None:
    assert list(analysed("", regex, False).literals) == literals


@given(st.data())
def test_every_match_has_one_of_the_words(data: st.DataObject) -> None:
    part = st.sampled_from(
        [
            "abc",
            "xy z",
            r"\d+",
            r"\s+",
            ".*",
            "(?:abcde|fghij)",
            "(?P<n>k+)?",
            "[lm]n",
            "(?i:Opq)",
            r"\.",
            "(rstuv)+",
            "é",
        ]
    )
    parts = data.draw(st.lists(part, min_size=1, max_size=6))
    regex = re.sub(r"\?P<n>", "?:", "".join(parts))
    try:
        literals = analysed("", regex, False).literals
    except PatternError as error:
        assert error.id == "rules.pattern_short"
        return
    made = compiled("", regex, False)
    match = data.draw(st.from_regex(made, fullmatch=True))
    text = " ".join(re.sub(r"\s", " ", match).split(" ")) if " " in match else re.sub(r"\s", " ", match)
    text = re.sub(r" +", " ", text)
    assert any((each.lower() in text.lower()) if folded else (each in text) for each, folded in literals)
    assert all(sum(letter.isalnum() for letter in each) >= SHORTEST for each, _ in literals)


LINE_PARTS = ["abcde", "fgh ij", r"\s+", r"\s*", ".*", r"\S{1,4}", r"[^x]*", r"[a-z]+", r"\W", r"\D+", "(?:ab|cd)",
              r"\b", r"(?s:.)", "(?i:K)", r"[\x00-z]*", "f++"]  # fmt: skip


@given(
    st.lists(st.sampled_from(LINE_PARTS), max_size=5), st.lists(st.text("abcdefghijx ,\té", max_size=30), max_size=4)
)
def test_what_matches_in_a_line_matches_among_other_lines(parts: list[str], lines: list[str]) -> None:
    """What is searched in many lines at once misses no line, and what could run on and on is not searched so."""
    regex = "abcde" + "".join(parts)
    if analysed("", regex, False).leading:
        made = compiled("", regex, False)
        assert made.search("\n".join(lines)) or not any(made.search(line) for line in lines)
        assert not any(part in regex for part in ("[^", r"\D", r"\W", "(?s", r"\x00", "++"))


@pytest.mark.parametrize(
    ("regex", "leading"),
    [
        (r"NET/IB\s*:\s+(?:No\s+GID|no\s+usable)", True), (r"abcde \S{1,40} .*f", True), (r"(?:abcde|fghij) x", False),
        (r"(?i:abcde) x", False), (r"[Aa]bcdef", False), (r"abcde[^)]*f", False), (r"(?s)abcde.*f", False),
        (r"abcde\s+\w+[\d.]+", True), (r"ab\s+cdefg", False),
    ],
)  # fmt: skip
def test_what_can_be_searched_in_many_lines_at_once(regex: str, leading: bool) -> None:
    assert analysed("", regex, False).leading is leading


def test_what_the_check_of_a_file_finds(tmp_path: Path) -> None:
    path = write(tmp_path / "rules.yaml", GOOD)
    assert check_files([path]) == [] and check_files([path, path]) == []
    assert where_of(path, "our-disk") == 2
    write(path, GOOD.replace("source: seen here", "source: ''"))
    strict = {(problem.id, problem.key) for problem in check_files([path], strict=True)}
    assert strict == {
        ("rules.one_language", "rules[1].advice"),
        ("rules.one_language", "rules[1].causes[1].text"),
        ("rules.no_source", "rules[1].sample"),
        ("rules.no_source_of_variant", "rules[1].variants[1]"),
    }
    wrong = GOOD.replace('used up", source', 'almost used up", source').replace("{host} is", "{server} is")
    write(path, wrong + "    follows: [no-such, our-disk]\n")
    assert [(problem.id, problem.line) for problem in check_files([path])] == [
        ("rules.not_recognised", 14), ("rules.placeholder", 5), ("rules.no_rule_to_follow", 17),
        ("rules.no_rule_to_follow", 17),
    ]  # fmt: skip
    write(path, "rules: [{id: a, part: gpu, level: root, title: {en: x, ja: y}, fact: 'silent:no-such'}]\n")
    assert [problem.id for problem in check_files([path])] == ["rules.no_fact"]
    bare = "rules: [{id: a, part: gpu, level: root, title: x, patterns: [{text: some words}]}]\n"
    assert {problem.id for problem in check_files([write(path, bare)], strict=True)} == {
        "rules.no_sample", "rules.no_variant", "rules.one_language",
    }  # fmt: skip


def test_a_harmless_example_must_not_be_a_failure_to_others(tmp_path: Path) -> None:
    second = GOOD[7:].replace("our-disk", "harmless").replace("level: root", "level: benign")
    found = check_files([write(tmp_path / "rules.yaml", GOOD + second)])
    assert {(problem.id, problem.values["others"]) for problem in found} == {("rules.harmless_is_found", "our-disk")}


def test_the_schema_of_rules() -> None:
    schema = json_schema("rule")
    assert schema["required"] == ["rules"]
    assert set(schema["$defs"]["Rule"]["required"]) == {"id", "part", "level", "title"}
    assert schema["$defs"]["Pattern"]["additionalProperties"] is False


def test_rules_list(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "project.yaml", "name: x\ncommand: run\n")
    write(tmp_path / "templates/rules/ours.yaml", GOOD)
    write(tmp_path / "templates/rules/wrong.yaml", "rules: 3")
    monkeypatch.chdir(tmp_path)
    assert run(["rules", "list", "--part", "filesystem"]) == 0
    shown = capsys.readouterr()
    assert "our-disk" in shown.out and "The disk of … is full" in shown.out and "gpu-out-of-memory" not in shown.out
    assert "templates/rules/wrong.yaml:1: rules: 3 is not a list" in shown.err
    assert run(["rules", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    ours = {"id": "our-disk", "part": "filesystem", "level": "root", "title": "The disk of {host} is full"}
    assert {**ours, "from": "project.yaml"} in listed["rules"]
    assert len(listed["problems"]) == 1
    assert run(["rules", "list", "--part", "files"]) == 2
    assert "filesystem" in capsys.readouterr().err


def test_rules_show(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "project.yaml", "name: x\ncommand: run\n")
    path = write(
        tmp_path / "templates/rules/ours.yaml", GOOD.replace("Delete something.", '"Delete \\e[31msomething."')
    )
    monkeypatch.chdir(tmp_path)
    assert run(["rules", "show", "our-disk"]) == 0
    shown = capsys.readouterr().out
    for words in (
        f"{path}:2", "our-disk · filesystem · root", "The disk of {host} is full", "quota of the group is used up",
        "/only (?P<left>[0-9]+ MB) left on/", "case-insensitive", "1. Old checkpoints", "$ du -sh checkpoints",
        "(seen here)", "| ONLY 3 MB left on /lustre",
    ):  # fmt: skip
        assert words in shown
    assert "\x1b[31m" not in shown
    set_language("ja")
    assert run(["rules", "show", "our-disk", "--lang", "ja"]) == 0
    assert "{host} のディスクがいっぱいです" in capsys.readouterr().out
    assert run(["rules", "show", "our-disk", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["from"] == f"{path}:2" and told["patterns"][1]["ignore_case"] is True
    assert run(["rules", "show", "our-disks"]) == 2
    assert "did you mean `our-disk`?" in capsys.readouterr().err
    assert run(["rules", "show", "zzz"]) == 2
    assert "hackathon rules list" in capsys.readouterr().err


def test_rules_check(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rule_files, "shipped", tmp_path.joinpath)
    assert run(["rules", "check"]) == 0
    assert capsys.readouterr().out == "No rule files were found.\n"
    good = write(tmp_path / "good.yaml", GOOD)
    assert run(["rules", "check", str(good)]) == 0
    assert capsys.readouterr().out == "1 rules in 1 files are valid.\n"
    bad = write(tmp_path / "bad.yaml", GOOD.replace("- text: quota of the group", "- text: the quota of every group"))
    assert run(["rules", "check", str(good), str(bad)]) == 2
    told = capsys.readouterr()
    assert told.out.startswith("bad.yaml:14: rules[1].sample.text: rule our-disk does not match this example")
    assert "1 problem in" in told.err
    assert run(["rules", "check", "none.yaml"]) == 2
    assert "none.yaml: the file does not exist" in capsys.readouterr().out
    write(tmp_path / "project.yaml", "name: x\ncommand: run\n")
    write(tmp_path / "templates/rules/a.yaml", GOOD)
    write(tmp_path / "templates/rules/b.yaml", GOOD)
    assert run(["rules", "check"]) == 2
    assert "templates/rules/b.yaml: rules[1].id: our-disk is also in a.yaml" in capsys.readouterr().out


@pytest.mark.slow
def test_rules_that_change_count_at_once_and_threads_do_not_share_a_scanner(tmp_path: Path) -> None:
    own, log = tmp_path / "templates" / "rules" / "own.yaml", tmp_path / "rank-0.log"
    log.write_text("write: quota of the group is used up\n")

    def found(_: int = 0) -> list[str]:
        return [finding.rule for finding in diagnose([log], folders=[tmp_path])]

    write(own, GOOD)
    assert found() == found() == ["our-disk"]
    write(own, GOOD.replace("our-disk", "our-ends"))  # as many bytes as before
    assert found() == ["our-ends"]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(found, range(16))) == [["our-ends"]] * 16
    own.unlink()
    assert "our-ends" not in found()
    first, second = (rule_set(rule_files.load_rules()[0]) for _ in range(2))
    assert first is second
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: rule_set(rule_files.load_rules()[0])).result() is not first
