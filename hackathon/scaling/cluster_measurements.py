"""Measurements of a cluster's communication, stored with the user's settings: `measured/<cluster>.json`.

One entry for each number of nodes and processes, the newest one. The scaling model reads α, B and the bus bandwidth.
"""

import time
from pathlib import Path
from typing import Any

from hackathon.runs.directory import RunDirectory
from hackathon.text.errors import HackathonError, UnavailableError
from hackathon.text.files import read_json, write_json
from hackathon.text.paths import user_config

SCHEMA_VERSION = 1
RESULT = "allreduce.json"
"""The file of the recipe `allreduce` in its run directory."""


def measured_path(cluster: str) -> Path:
    """Return the file of a cluster's measurements; RuntimeError when this user has no home."""
    return user_config() / "measured" / f"{cluster}.json"


def measured(cluster: str) -> list[dict[str, Any]]:
    """Return the measurements, fewest nodes first: nodes, processes, backend, hosts, date, run, operations, …

    `operations`: name → bytes and busbw_gb_s (largest message), latency_us (smallest one), fits (`small`, `large`:
    alpha_us, beta_gb_s, from_bytes, to_bytes, relative_error). Empty without a file or with an invalid one.
    """
    try:
        value = read_json(measured_path(cluster))
    except RuntimeError:
        return []
    entries = value.get("measured") if isinstance(value, dict) and value.get("schema_version") == SCHEMA_VERSION else ()
    return [row for row in entries if _is_complete(row)] if isinstance(entries, list) else []


def entry(run: RunDirectory) -> dict[str, Any]:
    """Return the measurement of a successful run of the recipe; HackathonError for a missing or incomplete result."""
    result: Any = read_json(run.path / RESULT)
    request = run.request()
    try:
        operations = {
            str(name): {
                "bytes": operation["rows"][-1]["bytes"],
                "busbw_gb_s": float(operation["rows"][-1]["busbw_gb_s"]),
                "latency_us": float(operation["rows"][0]["time_us"]),
                "fits": dict(operation["fits"]),
            }
            for name, operation in result["operations"].items()
        }
        record = {
            "nodes": request.nodes,
            "processes": int(result["processes"]),
            "where": "inside" if int(result["nodes"]) == 1 else "between",
            "hosts": int(result["nodes"]),
            "backend": str(result["backend"]),
            "device": str(result["device"]),
            "launcher": request.launcher,
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(float(result["t"]))),
            "run": run.id,
            "job_id": run.job_id(),
            "operations": operations,
        }
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise HackathonError(
            "scaling.not_measured",
            "{file} contains no measurement",
            hint="see the job's log: `hackathon logs`",
            file=run.path / RESULT,
        ) from None
    return record


def keep(cluster: str, entries: list[dict[str, Any]]) -> Path:
    """Write these entries, and the existing ones of other nodes or processes, to the file; return its path.

    Raises UnavailableError when it is not writable (full disk, no permission).
    """
    fresh = {(row["nodes"], row["processes"]) for row in entries}
    former = [row for row in measured(cluster) if (row["nodes"], row["processes"]) not in fresh]
    value = {
        "schema_version": SCHEMA_VERSION,
        "cluster": cluster,
        "measured": sorted([*former, *entries], key=lambda row: (row["nodes"], row["processes"])),
    }
    try:
        path = measured_path(cluster)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, value)
    except (OSError, RuntimeError) as error:
        raise UnavailableError(
            "scaling.not_kept",
            "the measurement could not be saved: {what}",
            what=getattr(error, "strerror", None) or error,
        ) from error
    return path


def _is_complete(value: object) -> bool:
    """Return whether an entry of the file, which people may have edited, has what is shown of it."""
    if not isinstance(value, dict) or not isinstance(value.get("operations"), dict):
        return False
    counts = all(isinstance(value.get(name), int) for name in ("nodes", "processes", "hosts"))
    numbers = all(
        isinstance(operation, dict)
        and isinstance(operation.get("fits"), dict)
        and all(isinstance(line, dict) for line in operation["fits"].values())
        for operation in value["operations"].values()
    )
    return counts and numbers
