"""Find the files of rules for failures, and read them."""

import functools
from collections.abc import Sequence
from pathlib import Path

from hackathon.config import plug_ins
from hackathon.config.load import TOOLKIT, names_in, problem_of, read_record, user_folder
from hackathon.config.problems import ConfigError, Problem, read_bounded
from hackathon.config.rule import Rule, RuleFile
from hackathon.text.errors import RequestError
from hackathon.text.messages import Message
from hackathon.text.paths import shipped


def load_rules(folders: Sequence[Path] = ()) -> tuple[list[Rule], list[Problem]]:
    """Return the rules for failures, and the problems of unreadable files.

    A rule replaces those with its id further along the search path: project, event, user, shipped, packages.
    """
    rules, problems = find_rules(folders)
    return [rule for rule, _ in rules], problems


def find_rules(folders: Sequence[Path]) -> tuple[list[tuple[Rule, Path]], list[Problem]]:
    """Return the rules with their files, and the problems of files; see load_rules."""
    by_id: dict[str, tuple[Rule, Path]] = {}
    packages, problems = _rules_of_packages()
    for path in [*_rule_files(folders), *packages]:
        try:
            rules = load_rule_file(path)
        except ConfigError as error:
            problems += error.problems
            continue
        for index, rule in enumerate(rules):
            _, other = by_id.setdefault(rule.id, (rule, path))
            if path in packages and other != path:
                if other in packages or other.is_relative_to(shipped("templates")):
                    origin = packages.get(other, TOOLKIT)
                    values = {"id": rule.id, "package": packages[path], "other": origin}
                    problems.append(
                        Problem(
                            Message(
                                "plug_ins.rule_hidden",
                                "the rule {id} of the package {package} is not used: {other} has one of this name",
                            ),
                            path,
                            None,
                            ("rules", index, "id"),
                            values,
                        )
                    )
            elif other != path and other.parent == path.parent:
                values = {"id": rule.id, "other": other.name}
                problems.append(
                    Problem(
                        Message("rules.id_elsewhere", "{id} is also in {other}, which is used"),
                        path,
                        None,
                        ("rules", index, "id"),
                        values,
                    )
                )
    return list(by_id.values()), problems


def load_rule_file(path: Path) -> list[Rule]:
    """Return the rules of one file."""
    return list(_rules_in(path, read_bounded(path)))


@functools.lru_cache(maxsize=64)
def _rules_in(path: Path, raw: bytes) -> list[Rule]:
    """Return the rules in some bytes. Cached, so that repeated diagnoses create the 300 records once."""
    return read_record(RuleFile, path, raw=raw).rules


def rule_files(folders: Sequence[Path] = ()) -> list[Path]:
    """Return the files of rules, the one with priority first; those of one folder by name."""
    return [*_rule_files(folders), *_rules_of_packages()[0]]


def _rules_of_packages() -> tuple[dict[Path, str], list[Problem]]:
    """Return file of rules → package's name for installed packages, and the problems of the others."""
    files: dict[Path, str] = {}
    problems: list[Problem] = []
    for plug_in in plug_ins.of_kind("rules"):
        try:
            files[plug_ins.file_of(plug_in)] = plug_in.package
        except RequestError as error:
            problems.append(problem_of(plug_in, error))
    return files, problems


def _rule_files(folders: Sequence[Path]) -> list[Path]:
    rule_folders = [*(folder / "templates" / "rules" for folder in folders), *user_folder("rules")]
    return [
        folder / name
        for folder in [*rule_folders, shipped("templates", "rules")]
        for name in sorted(names_in(folder))
        if name.endswith(".yaml") and not name.startswith(".")
    ]
