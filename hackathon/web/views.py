"""What a page shows of a study and its runs, read from run directories; nobody's name is in it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hackathon.runs.inside import inside_of
from hackathon.web.mask import Mask
from hackathon.web.run_view import RunView, job_of, mapping, real, run_view


@dataclass(frozen=True)
class StudyView:
    """One study as a page shows it."""

    id: str
    name: str
    results: dict[str, Any]
    """DESIGN's results JSON, masked."""
    runs: tuple[RunView, ...] = ()
    created: float | None = None
    clusters: tuple[str, ...] = ()
    team: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> dict[str, Any] | None:
        """The largest point with a speed-up, None when there is none."""
        good = [point for point in self.results["points"] if point["speedup"] is not None]
        return good[-1] if good else None


def study_view(
    study: Mapping[str, Any],
    results: Mapping[str, Any],
    runs: Sequence[Path],
    *,
    metrics: Mapping[str, Mapping[str, float]] | None = None,
) -> StudyView:
    """Return a study for a page: its study.json, its results, its run directories in any order.

    States and reasons are those of the results. Files that are missing or half-written leave gaps, never an error.
    `metrics` (by run id) spares reading the logs again. Users, home folders and hosts are masked in every text.
    """
    facts = {run["id"]: run for point in results["points"] for run in point["runs"]}
    checks = {entry["id"]: entry for entry in results["checks"].get("runs", ())} if results["checks"] else {}
    views = [run_view(path, facts.get(path.name, {}), checks.get(path.name), metrics) for path in runs]
    views.sort(key=lambda view: (view.processes, view.id))
    request = mapping(study.get("base_request"))
    view = StudyView(
        id=str(study.get("id") or results["study"]),
        name=str(study.get("name") or request.get("name") or results["study"]),
        results=dict(results),
        runs=tuple(views),
        created=real(study.get("created")),
        clusters=tuple(sorted({view.cluster for view in views if view.cluster})),
        team=str(request.get("team") or ""),
        options=mapping(study.get("options")),
    )
    masked: StudyView = mask_of(runs).value(view)
    return masked


def mask_of(runs: Iterable[Path]) -> Mask:
    """Return the mask for what these run directories name: owners, hosts of clients, jobs and records, servers."""
    users, hosts = set(), set()
    for path in runs:
        inside = inside_of(path)
        created = inside.json("client/created.json")
        users.add(str(created.get("user") or ""))
        hosts.add(str(created.get("host") or ""))
        job_id = job_of(inside)
        server = job_id.partition(".")[2]
        if server and not server.isdigit():
            hosts.add(server)
        for folder, suffix in (("env", ".json"), ("telemetry", ".csv")):
            hosts.update(entry.removesuffix(suffix) for entry in inside.names(folder) if entry.endswith(suffix))
        for name in inside.names("events"):
            hosts.update(str(event.get("host") or "") for event in inside.lines(f"events/{name}"))
        hosts.update(str(inside.json(f"env/{name}").get("host") or "") for name in inside.names("env"))
    return Mask(users, hosts)
