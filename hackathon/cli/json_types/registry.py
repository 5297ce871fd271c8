"""The type of the JSON that each command prints, with its version."""

import importlib
from typing import Any

_OWN = "hackathon.cli.json_types"
_PLACES: dict[str, str | dict[str, str]] = {
    "ask": {
        "send": "board:EntryJson", "list": "board:RequestsJson", "take": "board:EntryJson", "close": "board:EntryJson",
    },
    "board": {
        "init": "board:BoardInitJson", "post": "board:EntryJson", "answer": "board:EntryJson",
        "solve": "board:EntryJson", "list": "board:PostsJson", "search": "board:PostsJson", "show": "board:OnePostJson",
    },
    "standup": {"write": "board:EntryJson", "show": "board:StandupJson"},
    "notify": {"show": "board:NotifyJson", "relay": "board:RelayJson"},
    "check": "jobs:CheckJson", "render": "jobs:RenderJson", "lint": "jobs:LintJson", "convert": "jobs:ConvertJson",
    "port": "jobs:PortJson", "docs": "jobs:DocsJson", "plugins": "jobs:PluginsJson", "recipes": "jobs:RecipesJson",
    "env": {"create": "jobs:EnvCreateJson", "list": "jobs:EnvListJson", "show": "jobs:EnvShowJson"},
    "try": "runs:TryJson", "status": "runs:StatusJson", "diagnose": "runs:DiagnoseJson", "submit": "runs:SubmitJson",
    "rerun": "runs:RerunJson", "fetch": "runs:FetchJson",
    "results": "studies:ResultsJson", "scale": "studies:ScaleJson", "compare": "studies:CompareJson",
    "export": "studies:ExportJson",
    "predict": "studies:PredictJson", "tune": "tuning:TuneJson",
    "profile": "speed:ProfileJson", "speedup": "speed:SpeedupJson", "microbatch": "speed:MicrobatchJson",
    "compress": "speed:CompressJson", "plan": "speed:PlanJson",
    "doctor": "machines:DoctorJson",
    "clusters": {
        "list": "machines:ClustersListJson", "show": "machines:ClusterShowJson", "check": "machines:ClustersCheckJson",
        "measure": "machines:ClustersMeasureJson", "new": "machines:ClustersNewJson",
    },
    "rules": {"list": "machines:RulesListJson", "show": "machines:RuleShowJson"},
    "event": {
        "init": "event:EventInitJson", "check": "event:EventCheckJson", "show": "event:ShownEventJson",
        "usage": "event:UsageJson",
    },
    "survey": {"open": "event:SurveyOpenJson", "check": "event:SurveyCheckJson", "import": "event:SurveyImportJson"},
    "ready": "event:ReadyJson", "trust": "event:TrustJson", "top": "event:TopJson",
}  # fmt: skip
"""Command → module and type; of a group: sub-command → them."""
VERSIONS: dict[str, int] = {}
"""Command → `schema_version`, where it is not 1: it grows when a field is removed or gets another type or meaning."""


def commands() -> list[str]:
    """Return the commands whose JSON has a schema, such as `clusters list`."""
    names = []
    for name, place in _PLACES.items():
        names += [f"{name} {verb}" for verb in place] if isinstance(place, dict) else [name]
    return sorted(names)


def version_of(command: str) -> int:
    """Return the `schema_version` of a command's JSON."""
    return VERSIONS.get(command, 1)


def schema_of(command: str) -> dict[str, Any]:
    """Return the JSON Schema of a command's JSON. Raises KeyError for a command without any."""
    from hackathon.config.type_schema import type_schema

    return type_schema(_type_of(command), f"hackathon {command} --json", version_of(command))


def _type_of(command: str) -> Any:
    name, _space, verb = command.partition(" ")
    place = _PLACES[name]
    if isinstance(place, dict):
        place = place[verb]
    elif verb:
        raise KeyError(command)
    module, _colon, kind = place.partition(":")
    return getattr(importlib.import_module(f"{_OWN}.{module}"), kind)
