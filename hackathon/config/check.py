"""Checks beyond a record's types: values of a file that must agree with one another."""

import re
from collections.abc import Mapping
from typing import Any

from hackathon.config.cluster import RESERVED_NAMES, Cluster
from hackathon.config.command import COUNTS, command_words
from hackathon.config.problems import Problem, listing, shown
from hackathon.config.project import Project
from hackathon.config.recipe import Check, Data, InstallStep, Metric, Parameter, Recipe, Scaling
from hackathon.config.records import KeyPath, Scalar
from hackathon.config.report import Report
from hackathon.config.yaml import Document
from hackathon.text.errors import RequestError
from hackathon.text.messages import Message

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
_HEADER_FIELDS = ("queue", "group", "reservation", "qos", "constraint")
ADDRESS_SUFFIX = re.compile(r"[A-Za-z0-9.-]{0,60}")
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
        case "ReferenceFile":
            from hackathon.config.check_reference import check_reference

            check_reference(record, report)
        case "Survey":
            from hackathon.config.check_survey import check_survey

            check_survey(record, report)
    return report.problems


def name_problem(name: str) -> str | None:
    """Return the message id for an invalid name of a project, cluster or recipe, or None."""
    if not name.strip():
        return Message("config.name_empty", "the name is empty")
    if len(name) > LONGEST_NAME:
        return Message("config.name_long", "the name is longer than {limit} characters")
    import unicodedata

    # C*: control, format (changes of direction), surrogate, private; Zl, Zp: line and paragraph separators
    if "/" in name or any(unicodedata.category(letter)[0] == "C" for letter in name):
        return Message(
            "config.name_signs",
            "a name must not contain `/` or control characters, nor start with a dot, nor start or end with a space",
        )
    if any(unicodedata.category(letter) in ("Zl", "Zp") for letter in name) or name[0] == "." or name != name.strip():
        return Message(
            "config.name_signs",
            "a name must not contain `/` or control characters, nor start with a dot, nor start or end with a space",
        )
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
        report.add(
            Message("config.name_differs", "{name} must be the same as the file's or folder's name {expected}"),
            ("name",),
            name=shown(name),
            expected=shown(expected),
        )


def _cluster(cluster: Cluster, report: Report, name: str | None) -> None:
    _name(cluster.name, report, name)
    if cluster.name in RESERVED_NAMES:
        report.add(
            Message(
                "config.name_is_verb",
                "`{name}` is a sub-verb of `hackathon clusters`; give the file and `name` another name, e.g. {name}-1",
            ),
            ("name",),
            name=cluster.name,
        )
    if cluster.queue is not None and cluster.queues and cluster.queue not in (report.raw.get("queues") or ()):
        report.unknown(
            ("queue",),
            cluster.queue,
            cluster.queues,
            Message("config.no_queue", "there is no queue {name}; known: {known}"),
            Message("config.no_queue_near", "there is no queue {name}; did you mean `{near}`?"),
        )
    for queue_name, queue in cluster.queues.items():
        if queue.nodes is not None and queue.min_nodes > queue.nodes:
            report.add(
                Message("config.queue_nodes", "at least {least} nodes, but at most {most}"),
                ("queues", queue_name),
                least=queue.min_nodes,
                most=queue.nodes,
            )
    for field_name, pattern in cluster.patterns.items():
        if field_name not in _HEADER_FIELDS:
            report.unknown(
                ("patterns", field_name),
                field_name,
                _HEADER_FIELDS,
                Message("config.no_pattern", "{name} is not a field of the header; known: {known}"),
                Message("config.no_pattern_near", "{name} is not a field of the header; did you mean `{near}`?"),
            )
        compiled = _compile(pattern, ("patterns", field_name), report)
        if compiled and field_name == "queue":
            for queue_name in cluster.queues:
                if not compiled.fullmatch(queue_name):
                    report.add(
                        Message("config.queue_pattern", "the queue's name does not match patterns.queue: {pattern}"),
                        ("queues", queue_name),
                        pattern=pattern,
                    )
    if not ADDRESS_SUFFIX.fullmatch(cluster.master_addr_suffix):
        report.add(
            Message("config.address_suffix", "{text} cannot be a part of a node's name"),
            ("master_addr_suffix",),
            text=shown(cluster.master_addr_suffix),
        )
    for option, pattern in cluster.scripts.signs.items():
        _compile(pattern, ("scripts", "signs", option), report)
    keys = {".".join(map(str, path)) for path in report.document.places if all(isinstance(part, str) for part in path)}
    for index, entry in enumerate(cluster.unverified):
        if entry not in keys:
            report.add(
                Message("config.unverified", "the file has no value {name}"), ("unverified", index), name=shown(entry)
            )
    _evidence(cluster, keys, report)
    for index, folder in enumerate(cluster.visible_from_nodes):
        if not folder.startswith("/"):
            report.add(
                Message("config.not_absolute", "{name} must begin with /"),
                ("visible_from_nodes", index),
                name=shown(folder),
            )
    _variables(cluster.variables, report)
    _shell_text(cluster.scratch, ("scratch",), report)


def _evidence(cluster: Cluster, keys: set[str], report: Report) -> None:
    """Check the form of dates, and that evidence names existing values and sources; `keys`: dotted keys of the file."""
    for identifier, source in cluster.sources.items():
        if not _DAY.fullmatch(source.date):
            report.add(
                Message("config.source_date", "{text} is not a day; write YYYY-MM-DD or YYYY-MM"),
                ("sources", identifier, "date"),
                text=shown(source.date),
            )
    for entry, cited in cluster.evidence.items():
        if entry not in keys:
            report.add(
                Message("config.unverified", "the file has no value {name}"), ("evidence", entry), name=shown(entry)
            )
        for identifier in [cited] if isinstance(cited, str) else cited:
            if identifier not in cluster.sources:
                report.unknown(
                    ("evidence", entry),
                    identifier,
                    cluster.sources,
                    Message("config.no_source", "there is no source {name}; known: {known}"),
                    Message("config.no_source_near", "there is no source {name}; did you mean `{near}`?"),
                )


def _recipe(recipe: Recipe, report: Report, name: str | None) -> None:
    _name(recipe.name, report, name)
    parts = recipe.entry.split("/")
    if not recipe.entry or recipe.entry.startswith("/") or ".." in parts or "\0" in recipe.entry:
        report.add(
            Message("config.entry_outside", "{name} must be inside the recipe's folder"),
            ("entry",),
            name=shown(recipe.entry),
        )
    for number, file in enumerate(recipe.shared):
        if file in ("", ".", "..") or "/" in file or "\0" in file:
            report.add(
                Message(
                    "config.shared_name",
                    "{name} is not a file name: `shared` lists names without folders, such as data.py",
                ),
                ("shared", number),
                name=shown(file),
            )
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
        report.add(Message("config.install_one_of", "a step names either `requirements` or `packages`"), path)
    file = step.requirements
    if file is not None and (not file or file.startswith("/") or ".." in file.split("/") or "\0" in file):
        report.add(
            Message("config.entry_outside", "{name} must be inside the recipe's folder"),
            (*path, "requirements"),
            name=shown(file),
        )
    for number, package in enumerate(step.packages):
        if package[:1] in ("", "-"):
            report.add(
                Message("config.install_package", "{name} is not a package"),
                (*path, "packages", number),
                name=shown(package),
            )
    for name, text in step.variables.items():
        if not _VARIABLE.fullmatch(name):
            report.add(
                Message(
                    "config.variable_name",
                    "a variable name contains only letters, digits, and _, and does not start with a digit",
                ),
                (*path, "variables", name),
            )
        if "\0" in text:
            report.add(
                Message(
                    "config.shell_text",
                    'the script puts this text between double quotes; write \\" for a quote, and no line breaks',
                ),
                (*path, "variables", name),
            )


def _project(project: Project, report: Report) -> None:
    _name(project.name, report, None)
    keys = [key for key in ("recipe", "command") if report.raw.get(key) is not None]
    if len(keys) != 1:
        report.add(
            Message("config.recipe_or_command", "the project has neither `recipe` nor `command`; set one of them")
            if not keys
            else Message(
                "config.recipe_and_command", "the project has both `recipe` and `command`; set only one of them"
            ),
            tuple(keys[1:]),
        )
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
            command_words(project.command, {**dict.fromkeys(COUNTS, 1), **names, **declared})
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
        report.add(
            Message(
                "config.parameter_name",
                "a parameter name starts with a letter and contains only letters, digits, - and _",
            ),
            ("parameters", name),
        )


def _parameter(name: str, parameter: Parameter, report: Report) -> None:
    """Check that a parameter's default and choices fit its type and limits."""
    _parameter_name(name, report)
    path: KeyPath = ("parameters", name)
    if parameter.type in ("str", "bool") and (parameter.min is not None or parameter.max is not None):
        report.add(
            Message("config.parameter_limits", "min and max are only for numbers; this is of type {type}"),
            path,
            type=parameter.type,
        )
    if parameter.min is not None and parameter.max is not None and parameter.min > parameter.max:
        report.add(
            Message("config.parameter_range", "min {least} is greater than max {most}"),
            path,
            least=f"{parameter.min:g}",
            most=f"{parameter.max:g}",
        )
    fitting = True
    for index, choice in enumerate(parameter.choices or ()):
        fitting &= _fits(choice, parameter, (*path, "choices", index), report)
    if parameter.choices == []:
        report.add(Message("config.no_choices", "the list of choices is empty"), (*path, "choices"))
    value = parameter.default
    if value is None or not _fits(value, parameter, (*path, "default"), report):
        return
    if fitting and parameter.choices and value not in parameter.choices:
        choices = listing(str(choice) for choice in parameter.choices)
        report.add(
            Message("config.choice", "{value} is not one of: {choices}"),
            (*path, "default"),
            value=shown(value),
            choices=choices,
        )


def _fits(value: Scalar, parameter: Parameter, path: KeyPath, report: Report) -> bool:
    if type(value) not in _TYPES[parameter.type]:
        report.add(
            Message("config.parameter_type", "{value} is not of type {type}"),
            path,
            value=shown(value),
            type=parameter.type,
        )
        return False
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if parameter.min is not None and value < parameter.min:
            report.add(Message("config.too_small", "must be at least {limit}"), path, limit=f"{parameter.min:g}")
            return False
        if parameter.max is not None and value > parameter.max:
            report.add(Message("config.too_large", "must be at most {limit}"), path, limit=f"{parameter.max:g}")
            return False
    return True


def _measured(metric: str | None, metrics: Mapping[str, Metric], check: Check | None, report: Report) -> None:
    _patterns(metrics, report)
    _bounds(check, report)
    raw = report.raw.get("metrics")
    names = [*(raw if isinstance(raw, dict) else ()), *(name for name in WELL_KNOWN_METRICS if name not in metrics)]
    if metric is not None and metric not in names:
        report.unknown(
            ("metric",),
            metric,
            names,
            Message("config.no_metric", "there is no metric {name}; known: {known}"),
            Message("config.no_metric_near", "there is no metric {name}; did you mean `{near}`?"),
        )
    if check is not None and check.metric not in names:
        report.unknown(
            ("check", "metric"),
            check.metric,
            names,
            Message("config.no_metric", "there is no metric {name}; known: {known}"),
            Message("config.no_metric_near", "there is no metric {name}; did you mean `{near}`?"),
        )


def _bounds(check: Check | None, report: Report) -> None:
    if check is None:
        return
    raw = report.raw.get("check")
    if not any(isinstance(raw, dict) and raw.get(bound) is not None for bound in ("at_least", "at_most")):
        report.add(Message("config.check_empty", "set at_least or at_most"), ("check",))
    if check.at_least is not None and check.at_most is not None and check.at_least > check.at_most:
        report.add(
            Message("config.parameter_range", "min {least} is greater than max {most}"),
            ("check",),
            least=f"{check.at_least:g}",
            most=f"{check.at_most:g}",
        )


def _patterns(metrics: Mapping[str, Metric], report: Report) -> None:
    for name, metric in metrics.items():
        if metric.pattern is None:
            continue
        path = ("metrics", name, "pattern")
        compiled = _compile(metric.pattern, path, report)
        if compiled and compiled.groups != 1:
            report.add(
                Message(
                    "config.pattern_groups", "the pattern needs exactly one group (…) around the number; it has {count}"
                ),
                path,
                count=compiled.groups,
            )


def _data(entries: list[Data], report: Report) -> None:
    names: set[str] = set()
    for index, entry in enumerate(entries):
        path: KeyPath = ("data", index)
        if not _DATA_NAME.fullmatch(entry.name):
            report.add(
                Message(
                    "config.data_name",
                    "{name} is not a valid name for data: letters, digits, '.', '-' and '_', at most 100",
                ),
                (*path, "name"),
                name=shown(entry.name),
            )
        elif entry.name in names:
            report.add(
                Message("config.data_twice", "{name} appears twice in the data"),
                (*path, "name"),
                name=shown(entry.name),
            )
        names.add(entry.name)
        if not _ADDRESS.fullmatch(entry.url):
            report.add(
                Message("config.data_url", "{url} is not a URL: https://…, http://… or file:///…"),
                (*path, "url"),
                url=shown(entry.url),
            )
        if entry.sha256 is not None and not _SHA256.fullmatch(entry.sha256):
            report.add(Message("config.data_sha256", "a SHA-256 has 64 hexadecimal digits"), (*path, "sha256"))


def _compile(pattern: str, path: KeyPath, report: Report) -> re.Pattern[str] | None:
    import warnings

    try:
        with warnings.catch_warnings():
            # re warns of patterns whose meaning may change; they still work
            warnings.simplefilter("ignore")
            return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        report.add(
            Message("config.pattern", "{pattern} is not a regular expression: {reason}"),
            path,
            pattern=shown(pattern),
            reason=str(error),
        )
        return None


def _scaling(scaling: Scaling, report: Report) -> None:
    raw = report.raw.get("parameters")
    names = list(raw) if isinstance(raw, dict) else []
    for path, name in (
        (("scaling", "weak", "scale_learning_rate"), scaling.weak.scale_learning_rate),
        (("scaling", "strong", "divide"), scaling.strong.divide),
    ):
        if name is not None and name not in names:
            report.unknown(
                path,
                name,
                names,
                Message("config.no_parameter", "there is no parameter {name}; known: {known}"),
                Message("config.no_parameter_near", "there is no parameter {name}; did you mean `{near}`?"),
            )
    if scaling.strong.divide is not None and scaling.strong.by_program:
        report.add(
            Message(
                "config.divided_twice",
                "with `divide` the toolkit divides the batch, with `by_program` the program does: give one of them",
            ),
            ("scaling", "strong", "by_program"),
        )


def _variables(variables: Mapping[str, str], report: Report) -> None:
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name):
            report.add(
                Message(
                    "config.variable_name",
                    "a variable name contains only letters, digits, and _, and does not start with a digit",
                ),
                ("variables", name),
            )
        _shell_text(value, ("variables", name), report)


def _shell_text(value: str, path: KeyPath, report: Report) -> None:
    """Refuse text that would end the double quotes around it, or the line."""
    unescaped = re.sub(r"\\.", "", value, flags=re.DOTALL)
    if '"' in unescaped or "\\" in unescaped or "\n" in value or "\0" in value:
        report.add(
            Message(
                "config.shell_text",
                'the script puts this text between double quotes; write \\" for a quote, and no line breaks',
            ),
            path,
        )
