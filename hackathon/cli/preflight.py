"""The job that looks at the nodes before the real one: `submit --preflight`, `scale --preflight`."""

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.show import request_line
from hackathon.text.messages import message

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
    from hackathon.config.load import load_recipe
    from hackathon.jobs.check import check
    from hackathon.jobs.parameters import choose_values, option_words

    recipe, folder = load_recipe(RECIPE, [path.parent for path in sources.template_folders])
    known: dict[str, str] = {}
    gpus = min(request.gpus_per_node, request.processes_per_node)
    if gpus:
        known["gpus"] = str(gpus)
    if sources.cluster.node.network and request.nodes > 1:
        known["network"] = sources.cluster.node.network
    origin = f"cluster {request.cluster}"
    values = choose_values(recipe.parameters, [(origin, known)])
    walltime = min(WALLTIME, request.walltime)
    made = replace(
        request,
        name=recipe.name,
        recipe=recipe.name,
        framework=None,
        walltime=walltime,
        stop_before=min(request.stop_before, walltime // 5),
        command=("python", recipe.entry, *option_words(values.values)),
        parameters=values.values,
        metric=recipe.metric,
        metrics={name: asdict(metric) for name, metric in recipe.metrics.items()},
        check=asdict(recipe.check) if recipe.check else None,
        mode=None,
        signal="none",
        source=str(folder.resolve()),
        in_place=False,
        origins={**request.origins, **{f"parameters.{name}": where for name, where in values.origins.items()}},
    )
    check(made, sources.cluster, recipe)
    click.echo(request_line(made), err=True)
    return made


def submit_before(
    request: "Request", sources: "Sources", parent: str | None, note: str, after: tuple[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """Make the preflight's run, submit it, and return the facts for the runs that have to wait for it.

    `parent` is the (first) run that waits for it; `after` is what the preflight itself waits for. Raises as `create`
    and `submit` do: then nothing waits for it yet.
    """
    from hackathon.jobs.render import render
    from hackathon.runs import after as waiting
    from hackathon.runs import snapshot
    from hackathon.runs.create import create
    from hackathon.runs.directory import new_run_id
    from hackathon.runs.submit import submit
    from hackathon.schedulers import registry

    run = create(
        request,
        render(request, sources.cluster, sources.template_folders),
        runs_folder=sources.runs,
        # a second earlier: the run that waits for it is the newest one, which commands without a name take
        run_id=new_run_id(request.name, request.processes, time.time() - 1),
        parent=parent,
        note=note,
        tags=(RECIPE,),
        source=snapshot.take(Path(request.source), runs_folder=sources.runs),
    )
    job = submit(run, registry.load(request.scheduler), after=after)
    click.echo(f"{message('preflight.job')}: {run.id}  {message('cli.job_is', job=job)}", err=True)
    return {waiting.FACT: waiting.waits_for(run.id)}
