"""The strict schemas of Kubernetes, of the package kubernetes-validate: fetched once for a checkout, into `.stacks/`.

Run as a program it reads manifests from standard input (JSON: name → list of objects) and prints what the schemas of
all versions from FIRST on say against them. The package is used from its wheel: unpacked it has 17,000 files.

    python tests/support/kubernetes_schemas.py <manifests.json
"""

import fcntl
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PACKAGE = "kubernetes-validate==1.37.0"
NEEDS = ("jsonschema>=4.23", "importlib-resources", "typing-extensions", "packaging", "referencing", "PyYAML")
FIRST = (1, 27)
FOLDER = Path(__file__).resolve().parents[2] / ".stacks"
# read before any test changes it: packages that were once downloaded are taken from the caller's cache
_CACHE = {name: os.environ[name] for name in ("XDG_CACHE_HOME", "PIP_CACHE_DIR") if name in os.environ}


@functools.cache
def library() -> str:
    """Return the PYTHONPATH of the package, fetched when it is not there; CalledProcessError without a network."""
    place = FOLDER / PACKAGE
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
            environment = {**{key: value for key, value in os.environ.items() if key != "XDG_CACHE_HOME"}, **_CACHE}
            for words in (["install", "--upgrade", "--target", str(place), *NEEDS],
                          ["download", "--no-deps", "--dest", str(place), PACKAGE]):  # fmt: skip
                subprocess.run([*pip, *words], env=environment, check=True, capture_output=True)
            (place / "complete").touch()
    (wheel,) = place.glob("*.whl")
    return f"{place}{os.pathsep}{wheel}"


def complaints(manifests: dict[str, list[dict[str, Any]]]) -> tuple[list[str], list[str]]:
    """Return the versions that were asked, and `VERSION NAME: what is wrong` of every object that a schema refuses."""
    environment = {**os.environ, "PYTHONPATH": library()}
    done = subprocess.run(
        [sys.executable, str(Path(__file__))],
        input=json.dumps(manifests),
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    versions, found = json.loads(done.stdout)
    return versions, found


def main() -> None:
    """Answer on standard output, as JSON: [versions, complaints]."""
    from kubernetes_validate import utils  # type: ignore[import-not-found]

    utils.schema_contents = functools.cache(utils.schema_contents)  # megabytes, for every object again
    versions = list(dict.fromkeys(utils.all_versions()))
    utils.all_versions = lambda: versions
    asked = [each for each in versions if tuple(map(int, each.split(".")[:2])) >= FIRST]
    found = []
    for name, objects in json.load(sys.stdin).items():
        for each in objects:
            for version in asked:
                try:
                    utils.validate(each, version, strict=True)
                except utils.ValidationError as error:
                    found.append(f"{version} {name}: {'.'.join(map(str, error.path))}: {error.message[:200]}")
    json.dump([asked, found], sys.stdout)


if __name__ == "__main__":
    main()
