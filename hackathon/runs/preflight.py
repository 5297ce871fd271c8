"""The job that looks at the nodes before the real one: `submit --preflight`, `scale --preflight`."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources

RECIPE = "preflight"
WALLTIME = 300
"""Seconds, or the real job's where that is shorter: the checks take seconds, and a short job finds a place sooner."""


def preflight_request(request: "Request", sources: "Sources") -> "Request":
    """Return the request of the preflight: the real job's in all that decides where and how it runs.

    Its parameters are told what the cluster's profile says of GPUs and network. Raises RequestError as `check` does.
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
        # copying data to the nodes' own disks may take longer than this job has, and it does not look at them
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
