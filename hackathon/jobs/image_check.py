"""Whether a cluster can run a request's container image: its kind, its launcher, its MPI."""

import os
from collections.abc import Iterator

from hackathon.config.cluster import Cluster
from hackathon.jobs.image_mpi import mpi_of
from hackathon.jobs.program_mpi import uses_mpi
from hackathon.jobs.request import Request
from hackathon.text.messages import Message, _

_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
_KEPT = {
    "apptainer": "apptainer pull image.sif {image}", "singularity": "singularity pull image.sif {image}",
    "charliecloud": "ch-image pull {name} && ch-convert {name} image",
}  # fmt: skip
"""Runtime → the command that makes a file or folder of an image in a registry."""


def image_problems(request: Request, cluster: Cluster) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield (message id, values) of the reasons why an image does not run in this way."""
    image, container = request.image, request.container
    if image is None:
        return
    if container is None:
        yield (
            Message(
                "jobs.image_runtime",
                "image {image}: the profile of cluster {cluster} does not say how it runs images; write `container: "
                "{{runtime: …}}` into it (apptainer, pyxis, podman-hpc, shifter, sarus, charliecloud)",
            ),
            {"image": image, "cluster": cluster.name},
        )
        return
    runtime = container["runtime"]
    yield from _form(image, runtime, cluster)
    yield from _launch(request, runtime)
    for path in container["binds"]:
        if not path.startswith("/") or "," in path or ":" in path:
            yield (
                Message(
                    "jobs.image_bind",
                    "an image cannot get {path}: a folder of the nodes begins with / and has no comma or colon",
                ),
                {"path": path},
            )
    if request.launcher == "mpirun" and uses_mpi(request) is not False:
        yield from _mpi(request, cluster, mpi_of(image, container))


def image_notes(request: Request) -> list[str]:
    """Return what may not work with an image but cannot be known here."""
    image, container = request.image, request.container
    if image is None or container is None:
        return []
    notes = []
    if request.launcher == "mpirun" and uses_mpi(request) is False and mpi_of(image, container) == "none":
        notes.append(
            _(
                "image {image} has no MPI: that is right for a program whose ranks meet by MASTER_ADDR and "
                "MASTER_PORT, as those of torch do, and in the program nothing of MPI was found",
                image=image,
            )
        )
    if "://" not in image or container["runtime"] not in _KEPT:
        return notes
    return [
        *notes,
        _(
            "each node fetches the image {image} from the Internet, unless it is in a cache that it sees: make a "
            "file of it with `{command}` and write `image: image.sif`",
            image=image,
            command=_KEPT[container["runtime"]].format(image=image, name=image.partition("://")[2]),
        ),
    ]


def _form(image: str, runtime: str, cluster: Cluster) -> Iterator[tuple[str, dict[str, object]]]:
    is_path, is_address = image.startswith("/"), "://" in image
    wrong = {
        "apptainer": not is_path and not is_address,
        "singularity": not is_path and not is_address,
        "charliecloud": is_address or image.endswith(".sif"),
        "pyxis": image.endswith(".sif") or (is_address and not image.startswith("docker://")),
    }.get(runtime, is_path or (is_address and not image.startswith("docker://")))
    if wrong:
        forms = {
            "apptainer": "FILE.sif, docker://NAME:TAG", "singularity": "FILE.sif, docker://NAME:TAG",
            "charliecloud": "FOLDER, FILE.sqfs", "pyxis": "FILE.sqsh, NAME:TAG, docker://NAME:TAG",
        }.get(runtime, "NAME:TAG, docker://NAME:TAG")  # fmt: skip
        yield (
            Message("jobs.image_form", "image {image}: {runtime} does not run it; it runs {forms}"),
            {"image": image, "runtime": runtime, "forms": forms},
        )
    elif is_path and not os.path.exists(image) and os.path.isdir(os.path.dirname(image)):  # noqa: PTH110, PTH112, PTH120
        yield Message("jobs.image_missing", "image {image}: there is no such file or folder"), {"image": image}
    elif is_address and runtime in _KEPT and cluster.internet_on_nodes is False:
        yield (
            Message(
                "jobs.image_online",
                "image {image}: compute nodes of {cluster} have no Internet access. On a login node: {command}",
            ),
            {
                "image": image,
                "cluster": cluster.name,
                "command": _KEPT[runtime].format(image=image, name=image.partition("://")[2]),
            },
        )


def _launch(request: Request, runtime: str) -> Iterator[tuple[str, dict[str, object]]]:
    if request.launcher.startswith("horovodrun"):
        yield (
            Message(
                "jobs.image_horovodrun",
                "launcher {launcher} would start in the image and cannot reach other nodes from there: use "
                "--launcher mpirun or srun",
            ),
            {"launcher": request.launcher},
        )
    elif runtime == "pyxis" and "srun" not in (request.launcher, request.starter if _by_node(request) else ""):
        yield (
            Message(
                "jobs.image_pyxis",
                "pyxis starts images through srun, and launcher {launcher} with starter {starter} does not use it: "
                "use --launcher srun",
            ),
            {"launcher": request.launcher, "starter": request.starter},
        )


def _by_node(request: Request) -> bool:
    return request.launcher == "torchrun"


def _mpi(request: Request, cluster: Cluster, kind: str | None) -> Iterator[tuple[str, dict[str, object]]]:
    if kind == "none":
        yield (
            Message(
                "jobs.image_no_mpi",
                "image {image} has no MPI, and mpirun needs the same MPI there as on the nodes: install it in the "
                "image, or use --launcher torchrun or srun",
            ),
            {"image": request.image},
        )
    elif kind in _NAMES and cluster.mpi in _NAMES and kind != cluster.mpi:
        yield (
            Message(
                "jobs.image_other_mpi",
                "image {image} has {inside}, and mpirun on the nodes of {cluster} is {outside}: each process would "
                "be alone. Install {outside} in the image, or use --launcher torchrun or srun",
            ),
            {"image": request.image, "inside": _NAMES[kind], "outside": _NAMES[cluster.mpi], "cluster": cluster.name},
        )
