"""Write a run's `ro-crate-metadata.json`: RO-Crate 1.1 with the profile Process Run Crate 0.5."""

import json
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from hackathon.runs.crate.archive import METADATA, RESULT

SPECIFICATION = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
TERMS = "https://w3id.org/ro/terms/workflow-run/context"
"""The context that defines `sha256`."""
FRAMEWORKS = {
    "torch": ("PyTorch", "https://pytorch.org/"),
    "tensorflow": ("TensorFlow", "https://www.tensorflow.org/"),
    "chainer": ("Chainer", "https://chainer.org/"),
}
KINDS = {
    "json": "application/json", "py": "text/x-python", "sh": "application/x-sh", "yaml": "application/yaml",
    "yml": "application/yaml", "md": "text/markdown", "csv": "text/csv", "ipynb": "application/x-ipynb+json",
    "png": "image/png", "npz": "application/zip",
}  # fmt: skip
"""File suffix → media type; the toolkit's own table, because the system's differs between machines."""
_STATES = {"SUCCEEDED": "Completed", "CREATED": "Potential"}
_WORDS = {
    "job.sh": "the job script, as the scheduler got it",
    "hackathon.sh": "the functions that the job script calls",
    "rank.sh": "what every rank ran",
    "request.json": "everything that decided the job, with the origin of each value",
    "source.json": "hashes of the program's files as they were run",
    RESULT: "state, times and final numbers",
}


def metadata(
    about: Mapping[str, Any],
    request: Mapping[str, Any],
    result: Mapping[str, Any],
    files: Mapping[str, bytes],
    facts: Mapping[str, Any],
) -> bytes:
    """Return the metadata of a crate as JSON, an entity per line: its files, the run (a CreateAction) and the software.

    `about` is the crate's own list, `facts` its team, creation (seconds since 1970) and environments.
    """
    run = str(about["run"])
    name = f"{request.get('name') or run}, {request.get('processes')} processes on {request.get('cluster')}"
    program = _program(request, files)
    software = _software(about, request, facts["environments"])
    parameters = [
        {"@id": f"#parameter-{quote(key)}", "@type": "PropertyValue", "name": key, "value": value}
        for key, value in sorted((request.get("parameters") or {}).items())
    ]
    numbers = [
        {"@id": f"#result-{quote(key)}", "@type": "PropertyValue", "name": key, "value": value,
         **_unit(key, request)}
        for key, value in sorted({**result["metrics"], **result["texts"]}.items())
    ]  # fmt: skip
    outputs = sorted(path for path in files if path == RESULT or path.startswith(("env/", "logs/")))
    inputs = sorted(path for path in files if path not in outputs)
    action = {
        "@id": f"#{quote(run)}",
        "@type": "CreateAction",
        "name": name,
        "description": shlex.join(str(word) for word in request.get("command") or ()),
        "instrument": _ids(software),
        "object": [*(_id(path) for path in inputs), *_ids(parameters)],
        "result": [*(_id(path) for path in outputs), *_ids(numbers)],
        **_times(result),
    }
    team = facts.get("team")
    agents = [{"@id": "#team", "@type": "Organization", "name": str(team)}] if team else []
    if agents:
        action["agent"] = {"@id": "#team"}
    licence = next((path for path in inputs if path in ("source/LICENSE", "source/LICENSE.txt", "source/COPYING")), "")
    root = {
        "@id": "./",
        "@type": "Dataset",
        "conformsTo": {"@id": PROFILE},
        "name": name,
        "description": f"Run {run}, recorded so that it can be run again: `hackathon rerun FILE`.",
        "datePublished": result.get("ended") or _date(facts["created"]),
        "license": _id(licence) if licence else "No license is stated; ask the authors before using it otherwise.",
        "hasPart": [_id(path) for path in sorted((*files, "hackathon.json"))],
        "mentions": {"@id": action["@id"]},
    }
    graph = [
        {"@id": METADATA, "@type": "CreativeWork", "conformsTo": {"@id": SPECIFICATION}, "about": {"@id": "./"}},
        root,
        {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        action,
        *agents,
        *software,
        *parameters,
        *numbers,
        *(_file(path, files[path], about["files"].get(path), path == program) for path in sorted(files)),
        {"@id": "hackathon.json", "@type": "File", "name": "hackathon.json", "encodingFormat": "application/json",
         "description": "list of the files with their hashes, and what masking changed"},
    ]  # fmt: skip
    context = json.dumps([f"{SPECIFICATION}/context", TERMS])
    entities = ",\n".join(json.dumps(entity, ensure_ascii=False, allow_nan=False) for entity in graph)
    return f'{{"@context": {context},\n"@graph": [\n{entities}\n]}}\n'.encode("utf-8", "replace")


def _file(name: str, raw: bytes, sha256: str | None, program: bool) -> dict[str, Any]:
    ending = name.rpartition(".")[2] if "." in name else ""
    kind = KINDS.get(ending) or ("application/octet-stream" if b"\0" in raw else "text/plain")
    entity: dict[str, Any] = {
        "@id": quote(name),
        "@type": ["File", "SoftwareSourceCode"] if program else "File",
        "name": name,
        "encodingFormat": kind,
        "contentSize": str(len(raw)),
    }
    if sha256:
        entity["sha256"] = sha256
    if name in _WORDS:
        entity["description"] = _WORDS[name]
    return entity


def _software(
    about: Mapping[str, Any], request: Mapping[str, Any], environments: list[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the toolkit, Python and the framework, with the versions that the first host reported."""
    first = environments[0] if environments else {}
    entities = [
        {"@id": "#hackathon", "@type": "SoftwareApplication", "name": "hackathon",
         "softwareVersion": str(request.get("toolkit_version") or about["toolkit_version"]),
         "description": "made the job script and submitted it"},
    ]  # fmt: skip
    python = str(first.get("python") or "").split(" ")[0]
    if python:
        entities.append(
            {"@id": "https://www.python.org/", "@type": "SoftwareApplication", "name": "Python",
             "url": "https://www.python.org/", "softwareVersion": python}
        )  # fmt: skip
    framework = str(request.get("framework") or "")
    if framework and framework != "none":
        title, address = FRAMEWORKS.get(framework, (framework, f"#{quote(framework)}"))
        entity = {"@id": address, "@type": "SoftwareApplication", "name": title}
        if not address.startswith("#"):
            entity["url"] = address
        packages = first.get("packages")
        version = packages.get(framework) if isinstance(packages, dict) else None
        if version:
            entity["softwareVersion"] = str(version)
        entities.append(entity)
    return entities


def _times(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return times and status of the action; an unfinished run is active."""
    kind = "Active" if result["open"] else _STATES.get(result["state"], "Failed")
    times: dict[str, Any] = {"actionStatus": {"@id": f"http://schema.org/{kind}ActionStatus"}}
    for name, key in (("startTime", "started"), ("endTime", "ended")):
        if result.get(key):
            times[name] = result[key]
    if kind == "Failed":
        times["error"] = " ".join(filter(None, (result["state"], result["reason"])))
    return times


def _program(request: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    """Return the file of the crate that the command runs; empty if it is not in the crate."""
    words = [str(word) for word in request.get("command") or ()]
    return next((f"source/{word}" for word in words if f"source/{word}" in files), "")


def _unit(name: str, request: Mapping[str, Any]) -> dict[str, str]:
    metrics = request.get("metrics")
    entry = metrics.get(name) if isinstance(metrics, dict) else None
    unit = entry.get("unit") if isinstance(entry, dict) else None
    return {"unitText": str(unit)} if unit else {}


def _date(seconds: float) -> str:
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(max(0.0, min(seconds, 4e9))))


def _id(name: str) -> dict[str, str]:
    return {"@id": quote(name)}


def _ids(entities: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{"@id": entity["@id"]} for entity in entities]
