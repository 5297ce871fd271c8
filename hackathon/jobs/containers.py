"""The container image of a job: which one, how the cluster starts it, and the words that say so in the script."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.cluster import Cluster, Container
from hackathon.schedulers.registry import known_dialect

if TYPE_CHECKING:
    from hackathon.config.project import Project

FILE_ENDINGS = (".sif", ".sqsh", ".sqfs", ".squashfs", ".img")
_AMD = re.compile(r"\bMI\d{2,3}|\bAMD\b|Instinct|Radeon", re.IGNORECASE)
_INTEL = re.compile(r"\bIntel\b|\bPVC\b|Ponte Vecchio", re.IGNORECASE)
TEMPLATES = {"singularity": "apptainer", "podman-hpc": "podman"}
"""Runtime → the one whose template it shares."""
_COMMANDS = {"charliecloud": "ch-run"}
_FIXED: Mapping[str, tuple[str, ...]] = {
    "apptainer": ("exec", "--cleanenv"),
    # the ranks talk to each other, and the recorder signals the program by its process number
    "podman": ("run", "--rm", "--network=host", "--pid=host", "--ipc=host"),
    "shifter": ("--clearenv",),
    "sarus": ("run",),
}
_GPUS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "apptainer": {"nvidia": ("--nv",), "amd": ("--rocm",)},
    "singularity": {"nvidia": ("--nv",), "amd": ("--rocm",)},
    "podman-hpc": {"nvidia": ("--gpu",)},
    "podman": {"nvidia": ("--device=nvidia.com/gpu=all",), "amd": ("--device=/dev/kfd", "--device=/dev/dri")},
}
"""Runtime → GPUs → the options that give them to an image. The others' sites do so without an option."""


def image_of(
    cluster: Cluster, project: "Project", image: str, folder: Path
) -> tuple[str | None, dict[str, Any] | None, dict[str, Any]]:
    """Return a project's image, how its cluster runs it, and the options of the cluster's scheduler.

    `folder`: the project's. The image is a path from the root or a name. A scheduler that runs every job in an image
    has it among its options.
    """
    if hasattr(known_dialect(cluster), "image"):
        return None, None, {**cluster.dialect, "image": image.removeprefix("docker://")}
    image = located(image, folder)
    return image, container_of(cluster, image, project), cluster.dialect


def container_of(cluster: Cluster, image: str, project: "Project | None") -> dict[str, Any] | None:
    """Return how a cluster runs an image, with the project's binds; None if its profile does not say."""
    container = cluster.container
    if container is None:
        if not image.endswith(".sif"):
            return None
        container = Container("apptainer")
    own = project.image_binds if project is not None else []
    gpus = container.gpus or _gpus(cluster)
    return {**asdict(container), "gpus": gpus, "binds": list(dict.fromkeys((*container.binds, *own)))}


def located(image: str, folder: Path) -> str:
    """Return an image as it is, but a file's or folder's path from the root; `folder`: the project's."""
    if "://" in image:
        return image
    if image.startswith(("/", "./", "../", "~")) or image.endswith(FILE_ENDINGS) or (folder / image).exists():
        return str((folder / Path(image).expanduser()).absolute())
    return image


def assigned(image: str, container: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """Return the script's values about an image and how it is run."""
    return {
        "HK_IMAGE": reference(image, container["runtime"]),
        "HK_CONTAINER": command(container),
        "HK_BINDS": list(container["binds"]),
    }


def command(container: Mapping[str, Any]) -> list[str]:
    """Return the first words of the command that runs something in an image; options of srun for pyxis."""
    runtime = container["runtime"]
    gpus = _GPUS.get(runtime, {}).get(container["gpus"], ())
    first = [] if runtime == "pyxis" else [container["program"] or _COMMANDS.get(runtime, runtime)]
    return [*first, *_FIXED.get(TEMPLATES.get(runtime, runtime), ()), *gpus, *container["options"]]


def reference(image: str, runtime: str) -> str:
    """Return an image in the notation of a runtime.

    Sources: pyxis' `--container-image` (`[REGISTRY#]IMAGE[:TAG]|PATH`), shifter(1) (`docker:NAME`).
    """
    name = image.removeprefix("docker://")
    if runtime in ("apptainer", "singularity", "charliecloud") or image.startswith("/"):
        return image
    if runtime == "shifter":
        return f"docker:{name}"
    registry, slash, rest = name.partition("/")
    if runtime == "pyxis" and slash and "#" not in name and ("." in registry or ":" in registry):
        return f"{registry}#{rest}"
    return name


def template_of(container: Mapping[str, Any]) -> str:
    """Return NAME of the template `container-NAME.sh.j2`."""
    runtime: str = container["runtime"]
    return TEMPLATES.get(runtime, runtime)


def _gpus(cluster: Cluster) -> str:
    model = cluster.node.gpu or ""
    if not cluster.node.gpu_count or _INTEL.search(model):
        return "none"
    return "amd" if _AMD.search(model) else "nvidia"
