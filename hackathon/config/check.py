"""Checks beyond a record's types: values of a file that must agree with one another."""

import re
from collections.abc import Mapping
from typing import Any

from hackathon.config.cluster import RESERVED_NAMES, Cluster
from hackathon.config.command import command_words
from hackathon.config.fields import KeyPath, Scalar
from hackathon.config.problems import Problem, listing, shown
from hackathon.config.project import Project
from hackathon.config.recipe import Check, Data, InstallStep, Metric, Parameter, Recipe, Scaling
from hackathon.config.report import Report
from hackathon.config.yaml import Document
from hackathon.text.errors import RequestError

WELL_KNOWN_METRICS = (
    "samples_per_s", "tokens_per_s", "steps_per_s", "loss", "accuracy", "seconds", "step", "epoch", "train_loss",
    "val_loss", "val_accuracy", "test_loss", "test_accuracy", "eval_loss", "eval_accuracy", "mfu", "time_to_train_s",
)  # fmt: skip
"""Metrics that need no declaration: the runtime's Meter writes them, or common formats contain them."""
LONGEST_NAME = 60
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DATA_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ADDRESS = re.compile(r"(?:https?://[^\s/]+/?|file:///)[^\s\0]*")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_DAY = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?", re.ASCII)
_PARAMETER = re.compile(r"[^\W\d][\w-]*")
_HEADER_FIELDS = ("queue", "group", "reservation")
_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}


def check_record(record: Any, document: Document, name: str | None) -> list[Problem]:
    """Return the contradictions between values of a valid record; `name`: the name of its file or folder."""
    report = Report(document)
    # most commands never read the last three, so their records and checks are imported on demand
    match type(record).__name__:
        case "Cluster":
            _cluster(record, report, name)
        case "Recipe":
            _recipe(record, report, name)
        case "Project":
            _project(record, report)
        case "Event":
            from hackathon.config.check_event import check_event

            check_event(record, report)
        case "RuleFile":
            from hackathon.config.check_rules import check_rules

            check_rules(record, report)
        case "Survey":
            from hackathon.config.check_survey import check_survey

            check_survey(record, report)
    return report.problems


def name_problem(name: str) -> str | None:
    """Return the message id for an invalid name of a project, cluster or recipe, or None."""
    if not name.strip():
        return "config.name_empty"
    if len(name) > LONGEST_NAME:
        return "config.name_long"
    import unicodedata

    # C*: control, format (changes of direction), surrogate, private; Zl, Zp: line and paragraph separators
    if "/" in name or any(unicodedata.category(letter)[0] == "C" for letter in name):
        return "config.name_signs"
    if any(unicodedata.category(letter) in ("Zl", "Zp") for letter in name) or name[0] == "." or name != name.strip():
        return "config.name_signs"
    return None


def find_key(value: Any, text: str) -> KeyPath | None:
    """Return the key path of a dotted text in plain values (keys may contain dots), or None."""
    if not isinstance(value, dict):
        return None
    if text in value:
        return (text,)
    for key in value:
        if text.startswith(f"{key}."):
            below = find_key(value[key], text[len(key) + 1 :])
            if below is not None:
                return (key, *below)
    return None


def _name(name: str, report: Report, expected: str | None) -> None:
    wrong = name_problem(name)
    if wrong:
        report.add(wrong, ("name",), limit=LONGEST_NAME)
    elif expected is not None and name != expected:
        report.add("config.name_differs", ("name",), name=shown(name), expected=shown(expected))


def _cluster(cluster: Cluster, report: Report, name: str | None) -> None:
    _name(cluster.name, report, name)
    if cluster.name in RESERVED_NAMES:
        report.add("config.name_is_verb", ("name",), name=cluster.name)
    if cluster.queue is not None and cluster.queues and cluster.queue not in (report.raw.get("queues") or ()):
        report.unknown(("queue",), cluster.queue, cluster.queues, "config.no_queue", "config.no_queue_near")
    for queue_name, queue in cluster.queues.items():
        if queue.nodes is not None and queue.min_nodes > queue.nodes:
            report.add("config.queue_nodes", ("queues", queue_name), least=queue.min_nodes, most=queue.nodes)
    for field_name, pattern in cluster.patterns.items():
        if field_name not in _HEADER_FIELDS:
            report.unknown(
                ("patterns", field_name), field_name, _HEADER_FIELDS, "config.no_pattern", "config.no_pattern_near"
            )
        compiled = _compile(pattern, ("patterns", field_name), report)
        if compiled and field_name == "queue":
            for queue_name in cluster.queues:
                if not compiled.fullmatch(queue_name):
                    report.add("config.queue_pattern", ("queues", queue_name), pattern=pattern)
    for option, pattern in cluster.scripts.signs.items():
        _compile(pattern, ("scripts", "signs", option), report)
    keys = {".".join(map(str, path)) for path in report.document.places if all(isinstance(part, str) for part in path)}
    for index, entry in enumerate(cluster.unverified):
        if entry not in keys:
            report.add("config.unverified", ("unverified", index), name=shown(entry))
    _evidence(cluster, keys, report)
    for index, folder in enumerate(cluster.visible_from_nodes):
        if not folder.startswith("/"):
            report.add("config.not_absolute", ("visible_from_nodes", index), name=shown(folder))
    _variables(cluster.variables, report)
    _shell_text(cluster.scratch, ("scratch",), report)


def _evidence(cluster: Cluster, keys: set[str], report: Report) -> None:
    """Check the form of dates, and that evidence names existing values and sources; `keys`: dotted keys of the file."""
    for identifier, source in cluster.sources.items():
        if not _DAY.fullmatch(source.date):
            report.add("config.source_date", ("sources", identifier, "date"), text=shown(source.date))
    for entry, cited in cluster.evidence.items():
        if entry not in keys:
            report.add("config.unverified", ("evidence", entry), name=shown(entry))
        for identifier in [cited] if isinstance(cited, str) else cited:
            if identifier not in cluster.sources:
                report.unknown(
                    ("evidence", entry), identifier, cluster.sources, "config.no_source", "config.no_source_near"
                )


def _recipe(recipe: Recipe, report: Report, name: str | None) -> None:
    _name(recipe.name, report, name)
    parts = recipe.entry.split("/")
    if not recipe.entry or recipe.entry.startswith("/") or ".." in parts or "\0" in recipe.entry:
        report.add("config.entry_outside", ("entry",), name=shown(recipe.entry))
    for number, file in enumerate(recipe.shared):
        if file in ("", ".", "..") or "/" in file or "\0" in file:
            report.add("config.shared_name", ("shared", number), name=shown(file))
    for parameter_name, parameter in recipe.parameters.items():
        _parameter(parameter_name, parameter, report)
    _measured(recipe.metric, recipe.metrics, recipe.check, report)
    _data(recipe.data, report)
    _scaling(recipe.scaling, report)
    for index, step in enumerate(recipe.install):
        _install_step(step, ("install", index), report)
    _variables(recipe.variables, report)


def _install_step(step: InstallStep, path: KeyPath, report: Report) -> None:
    if (step.requirements is None) == (not step.packages):
        report.add("config.install_one_of", path)
    file = step.requirements
    if file is not None and (not file or file.startswith("/") or ".." in file.split("/") or "\0" in file):
        report.add("config.entry_outside", (*path, "requirements"), name=shown(file))
    for number, package in enumerate(step.packages):
        if package[:1] in ("", "-"):
            report.add("config.install_package", (*path, "packages", number), name=shown(package))
    for name, text in step.variables.items():
        if not _VARIABLE.fullmatch(name):
            report.add("config.variable_name", (*path, "variables", name))
        if "\0" in text:
            report.add("config.shell_text", (*path, "variables", name))


def _project(project: Project, report: Report) -> None:
    _name(project.name, report, None)
    keys = [key for key in ("recipe", "command") if report.raw.get(key) is not None]
    if len(keys) != 1:
        report.add("config.recipe_or_command" if not keys else "config.recipe_and_command", tuple(keys[1:]))
    declared: dict[str, Any] = {}
    for name, value in project.parameters.items():
        if isinstance(value, Parameter):
            _parameter(name, value, report)
            declared[name] = value.default if value.default is not None else ""
        else:
            _parameter_name(name, report)
            declared[name] = value
    if project.command is not None:
        # an invalid declaration still declares its name
        raw = report.raw.get("parameters")
        names = dict.fromkeys(raw, "") if isinstance(raw, dict) else {}
        try:
            command_words(project.command, {**names, **declared})
        except RequestError as error:
            report.add(error.id, ("command",), **error.values)
        _measured(project.metric, project.metrics, project.check, report)
        if project.scaling is not None:
            _scaling(project.scaling, report)
    else:
        _patterns(project.metrics, report)
        _bounds(project.check, report)
    _data(project.data, report)
    _variables(project.variables, report)


def _parameter_name(name: str, report: Report) -> None:
    if not _PARAMETER.fullmatch(name):
        report.add("config.parameter_name", ("parameters", name))


def _parameter(name: str, parameter: Parameter, report: Report) -> None:
    """Check that a parameter's default and choices fit its type and limits."""
    _parameter_name(name, report)
    path: KeyPath = ("parameters", name)
    if parameter.type in ("str", "bool") and (parameter.min is not None or parameter.max is not None):
        report.add("config.parameter_limits", path, type=parameter.type)
    if parameter.min is not None and parameter.max is not None and parameter.min > parameter.max:
        report.add("config.parameter_range", path, least=f"{parameter.min:g}", most=f"{parameter.max:g}")
    fitting = True
    for index, choice in enumerate(parameter.choices or ()):
        fitting &= _fits(choice, parameter, (*path, "choices", index), report)
    if parameter.choices == []:
        report.add("config.no_choices", (*path, "choices"))
    value = parameter.default
    if value is None or not _fits(value, parameter, (*path, "default"), report):
        return
    if fitting and parameter.choices and value not in parameter.choices:
        choices = listing(str(choice) for choice in parameter.choices)
        report.add("config.choice", (*path, "default"), value=shown(value), choices=choices)


def _fits(value: Scalar, parameter: Parameter, path: KeyPath, report: Report) -> bool:
    if type(value) not in _TYPES[parameter.type]:
        report.add("config.parameter_type", path, value=shown(value), type=parameter.type)
        return False
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if parameter.min is not None and value < parameter.min:
            report.add("config.too_small", path, limit=f"{parameter.min:g}")
            return False
        if parameter.max is not None and value > parameter.max:
            report.add("config.too_large", path, limit=f"{parameter.max:g}")
            return False
    return True


def _measured(metric: str | None, metrics: Mapping[str, Metric], check: Check | None, report: Report) -> None:
    _patterns(metrics, report)
    _bounds(check, report)
    raw = report.raw.get("metrics")
    names = [*(raw if isinstance(raw, dict) else ()), *(name for name in WELL_KNOWN_METRICS if name not in metrics)]
    if metric is not None and metric not in names:
        report.unknown(("metric",), metric, names, "config.no_metric", "config.no_metric_near")
    if check is not None and check.metric not in names:
        report.unknown(("check", "metric"), check.metric, names, "config.no_metric", "config.no_metric_near")


def _bounds(check: Check | None, report: Report) -> None:
    if check is None:
        return
    raw = report.raw.get("check")
    if not any(isinstance(raw, dict) and raw.get(bound) is not None for bound in ("at_least", "at_most")):
        report.add("config.check_empty", ("check",))
    if check.at_least is not None and check.at_most is not None and check.at_least > check.at_most:
        report.add("config.parameter_range", ("check",), least=f"{check.at_least:g}", most=f"{check.at_most:g}")


def _patterns(metrics: Mapping[str, Metric], report: Report) -> None:
    for name, metric in metrics.items():
        if metric.pattern is None:
            continue
        path = ("metrics", name, "pattern")
        compiled = _compile(metric.pattern, path, report)
        if compiled and compiled.groups != 1:
            report.add("config.pattern_groups", path, count=compiled.groups)


def _data(entries: list[Data], report: Report) -> None:
    names: set[str] = set()
    for index, entry in enumerate(entries):
        path: KeyPath = ("data", index)
        if not _DATA_NAME.fullmatch(entry.name):
            report.add("config.data_name", (*path, "name"), name=shown(entry.name))
        elif entry.name in names:
            report.add("config.data_twice", (*path, "name"), name=shown(entry.name))
        names.add(entry.name)
        if not _ADDRESS.fullmatch(entry.url):
            report.add("config.data_url", (*path, "url"), url=shown(entry.url))
        if entry.sha256 is not None and not _SHA256.fullmatch(entry.sha256):
            report.add("config.data_sha256", (*path, "sha256"))


def _compile(pattern: str, path: KeyPath, report: Report) -> re.Pattern[str] | None:
    import warnings

    try:
        with warnings.catch_warnings():
            # re warns of patterns whose meaning may change; they still work
            warnings.simplefilter("ignore")
            return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        report.add("config.pattern", path, pattern=shown(pattern), reason=str(error))
        return None


def _scaling(scaling: Scaling, report: Report) -> None:
    raw = report.raw.get("parameters")
    names = list(raw) if isinstance(raw, dict) else []
    for path, name in (
        (("scaling", "weak", "scale_learning_rate"), scaling.weak.scale_learning_rate),
        (("scaling", "strong", "divide"), scaling.strong.divide),
    ):
        if name is not None and name not in names:
            report.unknown(path, name, names, "config.no_parameter", "config.no_parameter_near")
    if scaling.strong.divide is not None and scaling.strong.by_program:
        report.add("config.divided_twice", ("scaling", "strong", "by_program"))


def _variables(variables: Mapping[str, str], report: Report) -> None:
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name):
            report.add("config.variable_name", ("variables", name))
        _shell_text(value, ("variables", name), report)


def _shell_text(value: str, path: KeyPath, report: Report) -> None:
    """Refuse text that would end the double quotes around it, or the line."""
    unescaped = re.sub(r"\\.", "", value, flags=re.DOTALL)
    if '"' in unescaped or "\\" in unescaped or "\n" in value or "\0" in value:
        report.add("config.shell_text", path)
