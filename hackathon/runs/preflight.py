"""The job that checks the nodes before the real one: `submit --preflight`, `scale --preflight`."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources

RECIPE = "preflight"
WALLTIME = 300
"""Seconds, or the real job's walltime if that is shorter. The checks take seconds, and short jobs start earlier."""


def preflight_request(request: "Request", sources: "Sources") -> "Request":
    """Return the request of the preflight; it equals the real job's in everything that decides where and how it runs.

    Its parameters contain the cluster profile's GPUs and network. Raises the errors of `check`.
    """
    from hackathon.config.load import load_recipe, shared_files
    from hackathon.jobs.check import check
    from hackathon.jobs.parameters import choose_values, option_words

    recipe, folder = load_recipe(RECIPE, [path.parent for path in sources.template_folders])
    machine: dict[str, str] = {}
    gpus = request.gpus_wanted
    if gpus:
        machine["gpus"] = str(gpus)
    if sources.cluster.node.network and request.nodes > 1:
        machine["network"] = sources.cluster.node.network
    values = choose_values(recipe.parameters, [(f"cluster {request.cluster}", machine)])
    walltime = min(WALLTIME, request.walltime)
    request_of_preflight = replace(
        request,
        name=recipe.name,
        recipe=recipe.name,
        framework=None,
        walltime=walltime,
        stop_before=min(request.stop_before, walltime // 5),
        command=("python", recipe.entry, *option_words(values.values)),
        parameters=values.values,
        # staging data may take longer than this job has, and the checks do not need it
        variables={name: value for name, value in request.variables.items() if name != "HK_STAGE"},
        metric=recipe.metric,
        metrics={name: asdict(metric) for name, metric in recipe.metrics.items()},
        check=asdict(recipe.check) if recipe.check else None,
        mode=None,
        signal="none",
        source=str(folder.resolve()),
        shared={name: str(path) for name, path in shared_files(recipe, folder).items()},
        in_place=False,
        exclude=(),
        origins={**request.origins, **{f"parameters.{name}": origin for name, origin in values.origins.items()}},
    )
    check(request_of_preflight, sources.cluster, recipe)
    return request_of_preflight
