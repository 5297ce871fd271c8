"""Find and read the files that people write: clusters, recipes, projects, events, a user's defaults.

Every function raises ConfigError with all problems of the first wrong file, and RequestError for what does not exist.
`folders` are the folders that have a say before the user's and the shipped ones, the nearest first: usually the
project's and the event's. What installed packages bring (`plug_ins`) comes last: a shipped name wins over it.

Checked files are kept as JSON in the user's cache, so that reading one again does not import YAML. The key covers
everything that the result depends on: the toolkit's version, this package's source, the kind of record, the expected
name, and the file's bytes. If the cache is deleted, damaged, read-only or missing, the file is silently checked again.
"""

import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hackathon import __version__
from hackathon.config.cluster import Cluster
from hackathon.config.problems import MAXIMUM_BYTES, ConfigError, Problem, listing, nearest, read_bounded, shown
from hackathon.config.records import rebuild
from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular, write_whole
from hackathon.text.messages import Message
from hackathon.text.paths import runtime_file, shipped, user_cache, user_config

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.config.plug_ins import PlugIn
    from hackathon.config.project import Project, UserSettings
    from hackathon.config.recipe import Recipe
    from hackathon.config.reference import ReferenceFile
    from hackathon.config.survey import Survey

PROJECT_FILE, EVENT_FILE, RECIPE_FILE, USER_FILE = "project.yaml", "hackathon.yaml", "recipe.yaml", "config.yaml"
SHARED = "shared"
"""The folder beside recipes with files that several of them share."""
KEPT = 300
"""Most checked files in the user's cache; the oldest are deleted first."""
TOOLKIT, USER, EVENT = "hackathon", "user", "event"
"""Origins of files (`origin_of`), besides a project and a package."""
_Record = TypeVar("_Record")
Dialects = Callable[[str], type | None]
"""Scheduler's name → its dialect class, None for an unavailable scheduler.

The dialects belong to the schedulers, a floor above this package, so callers pass them: see
`hackathon.schedulers.registry`.
"""


def load_cluster(name: str, folders: Sequence[Path], dialects: Dialects) -> Cluster:
    """Return the profile of a cluster: the first `templates/clusters/<name>.yaml` on the search path."""
    return read_record(Cluster, find_cluster(name, folders), name, dialects)


def load_cluster_file(path: Path, dialects: Dialects) -> Cluster:
    """Return the profile of a cluster in a file that `find_cluster` gave."""
    return read_record(Cluster, path, path.stem, dialects)


def find_cluster(name: str, folders: Sequence[Path]) -> Path:
    """Return the file of a cluster's profile, the first on the search path."""
    path = _find(name, _cluster_folders(folders), ".yaml") or _of_package("clusters", name)
    if path is None:
        raise _unknown(
            Message("config.no_cluster", "there is no cluster {name}; known: {known}"),
            Message("config.no_cluster_near", "there is no cluster {name}; did you mean `{near}`?"),
            name,
            cluster_files(folders)[0],
        )
    return path


def read_cluster(raw: bytes, path: Path, name: str, dialects: Dialects) -> Cluster:
    """Return the profile in some bytes; `path` is used in messages, `name` is the required name."""
    return read_record(Cluster, path, name, dialects, raw)


def load_recipe(target: str | Path, folders: Sequence[Path] = ()) -> "tuple[Recipe, Path]":
    """Return a recipe and its folder. The target is a recipe's name, or a folder with a recipe.yaml."""
    text = str(target)
    folder: Path | None = None
    if isinstance(target, str) and "/" not in text and text not in (".", "..", ""):
        folder = recipe_on_path(text, folders)
    if folder is None and "\0" not in text and text and os.path.isfile(os.path.join(text, RECIPE_FILE)):  # noqa: PTH113, PTH118
        folder = Path(text)
    if folder is None:
        raise _unknown(
            Message("config.no_recipe", "there is no recipe {name}; known: {known}"),
            Message("config.no_recipe_near", "there is no recipe {name}; did you mean `{near}`?"),
            text,
            recipe_files(folders)[0],
        )
    return _recipe(folder.absolute()), folder.absolute()


def recipe_on_path(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the folder of the recipe with a name, None without one."""
    file = _find(name, _recipe_folders(folders), f"/{RECIPE_FILE}") or _of_package("recipes", name)
    return file.parent if file else None


def shared_files(recipe: "Recipe", folder: Path) -> dict[str, Path]:
    """Return path below a recipe's folder → real path of the files that are put beside the program if missing.

    These are the runtime and the files that the recipe shares with others.
    """
    beside = Path(recipe.entry).parent
    runtime = runtime_file()
    files = {**({runtime.name: runtime} if runtime.is_file() else {}), **_shared_paths(recipe.shared, folder)}
    return {str(beside / name): path for name, path in files.items()}


def load_project(folder: Path, raw: bytes | None = None) -> "Project":
    """Return the project in a folder; `raw`: the content of its file, if the caller has read it."""
    from hackathon.config.project import Project

    return read_record(Project, folder / PROJECT_FILE, raw=raw)


def load_event(folder: Path, raw: bytes | None = None) -> "Event":
    """Return the event in a folder; `raw`: the content of its file, if the caller has read it."""
    # most projects belong to no event, so its records are imported on demand
    from hackathon.config.event import Event

    return read_record(Event, folder / EVENT_FILE, raw=raw)


def load_survey(path: Path) -> "Survey":
    """Return the questionnaire in a file."""
    from hackathon.config.survey import Survey

    return read_record(Survey, path)


def load_reference(path: Path) -> "ReferenceFile":
    """Return the expected results in a file."""
    from hackathon.config.reference import ReferenceFile

    return read_record(ReferenceFile, path)


def load_user() -> "UserSettings":
    """Return the user's settings; the defaults without a file or a home."""
    from hackathon.config.project import UserSettings

    try:
        path = user_config() / USER_FILE
    except RuntimeError:
        return UserSettings()
    return read_record(UserSettings, path) if os.path.exists(path) else UserSettings()  # noqa: PTH110


def find_project(start: Path) -> Path | None:
    """Return the nearest folder, from `start` upwards, that is a project; None without one."""
    return _upwards(start, PROJECT_FILE)


def find_event(start: Path) -> Path | None:
    """Return the nearest folder, from `start` upwards, that is an event of any owner; None without one.

    The result is only data; `config.trust` decides whether it affects the user's actions. Events that the user ignores
    (`hackathon trust --ignore`) are skipped.
    """
    folder = _upwards(start, EVENT_FILE)
    while folder is not None and _is_ignored(folder / EVENT_FILE):
        folder = _upwards(folder.parent, EVENT_FILE) if folder != folder.parent else None
    return folder


def _is_ignored(path: Path) -> bool:
    from hackathon.access.ownership import look
    from hackathon.access.trust_record import IGNORE, decided, entries

    if not any(entry.answer == IGNORE for entry in entries()):
        return False
    try:
        entry = decided(look(path, 0))
    except OSError:
        return False
    return entry is not None and entry.answer == IGNORE


def list_clusters(folders: Sequence[Path], dialects: Dialects) -> tuple[list[Cluster], list[Problem]]:
    """Return the clusters by name, and the problems of unreadable profiles."""
    clusters: list[Cluster] = []
    files, problems = cluster_files(folders)
    for name, path in sorted(files.items()):
        try:
            clusters.append(read_record(Cluster, path, name, dialects))
        except ConfigError as error:
            problems += error.problems
    return clusters, problems


def list_recipes(folders: Sequence[Path] = ()) -> "tuple[list[Recipe], list[Problem]]":
    """Return the recipes by name, and the problems of unreadable recipes."""
    recipes: list[Recipe] = []
    files, problems = recipe_files(folders)
    for _, path in sorted(files.items()):
        try:
            recipes.append(_recipe(path.parent))
        except ConfigError as error:
            problems += error.problems
    return recipes, problems


def _recipe(folder: Path) -> "Recipe":
    from hackathon.config.recipe import Recipe

    path = folder / RECIPE_FILE
    recipe = read_record(Recipe, path, folder.resolve().name)
    # the file's bytes do not show whether the program exists, so check it each time
    if not (folder / recipe.entry).is_file():
        raise ConfigError(
            [
                Problem(
                    Message("config.entry_missing", "{name} does not exist in the recipe's folder"),
                    path,
                    None,
                    ("entry",),
                    {"name": shown(recipe.entry)},
                )
            ]
        )
    beside = (folder / recipe.entry).parent
    shared = _shared_paths(recipe.shared, folder)
    problems = [
        _no_shared(path, number, name, folder)
        for number, name in enumerate(recipe.shared)
        if name not in shared and not (beside / name).is_file()
    ]
    if problems:
        raise ConfigError(problems)
    return recipe


def _shared_folders(folder: Path) -> tuple[Path, Path]:
    return folder.resolve().parent / SHARED, shipped("recipes", SHARED)


def _shared_paths(names: Iterable[str], folder: Path) -> dict[str, Path]:
    """Return name → where a shared file of a recipe lies, beside the recipe's folder or else in the toolkit."""
    parents = tuple(dict.fromkeys(_shared_folders(folder)))
    candidates = ((name, parent / name) for name in names for parent in parents[::-1])
    return {name: path for name, path in candidates if path.is_file()}


def _no_shared(path: Path, number: int, name: str, folder: Path) -> Problem:
    names = sorted({entry for base in _shared_folders(folder) for entry in names_in(base) if not entry.startswith("_")})
    near = nearest(name, names)
    values = {"name": shown(name), **({"near": near} if near else {"known": listing(names) or "–"})}
    return Problem(
        Message("config.no_shared_near", "there is no shared file {name}; did you mean `{near}`?")
        if near
        else Message("config.no_shared", "there is no shared file {name}; known: {known}"),
        path,
        None,
        (SHARED, number),
        values,
    )


def read_record(
    record: type[_Record],
    path: Path,
    name: str | None = None,
    dialects: Dialects | None = None,
    raw: bytes | None = None,
) -> _Record:
    """Return the checked record in a file, from the cache when the same bytes were checked before."""
    if raw is None or len(raw) > MAXIMUM_BYTES:
        raw = read_bounded(path)
    key = cache_key(record.__name__, name, raw)
    value = recall(key)
    if value is not None:
        try:
            return _with_defaults(_as(record, rebuild(record, value)), dialects)
        except (ValueError, TypeError):
            # another version's layout under the same key, or another dialect: check again and rewrite the entry
            pass
    from hackathon.config.validate import validate
    from hackathon.config.yaml import parse_yaml

    checked = _as(record, validate(record, parse_yaml(raw, path), name, dialects))
    keep(key, asdict(checked))  # type: ignore[call-overload]
    return _with_defaults(checked, dialects)


def _with_defaults(record: _Record, dialects: Dialects | None) -> _Record:
    """Return a cluster with every key of its dialect, and any other record unchanged.

    The cache contains only the file's values: its key does not cover the scheduler's source, whose defaults may change.
    """
    kind = dialects(record.scheduler) if isinstance(record, Cluster) and dialects is not None else None
    if not isinstance(record, Cluster) or kind is None:
        return record
    return replace(record, dialect=asdict(rebuild(kind, record.dialect)))


def _as(record: type[_Record], value: Any) -> _Record:
    if not isinstance(value, record):
        raise TypeError(f"{value!r} is no {record.__name__}")
    return value


def _cluster_folders(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield folder / "templates" / "clusters"
    yield from user_folder("clusters")
    yield shipped("templates", "clusters")


def _recipe_folders(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield folder / "recipes"
    yield from user_folder("recipes")
    yield shipped("recipes")


def user_folder(name: str) -> Iterator[Path]:
    try:
        yield user_config() / name
    except RuntimeError:
        # without a home folder the user has no settings
        return


def _find(name: str, folders: Iterator[Path], ending: str) -> Path | None:
    if not name or "/" in name or "\0" in name or name.startswith("."):
        return None
    for folder in folders:
        path = f"{folder}/{name}{ending}"
        try:
            if os.path.isfile(path):  # noqa: PTH113
                return Path(path)
        except (UnicodeError, ValueError):
            return None
    return None


def cluster_files(folders: Sequence[Path]) -> tuple[dict[str, Path], list[Problem]]:
    """Return name → file of every cluster (the first on the search path), and the problems of packages."""
    files: dict[str, Path] = {}
    for folder in _cluster_folders(folders):
        for name in names_in(folder):
            if name.endswith(".yaml") and not name.startswith("."):
                files.setdefault(name.removesuffix(".yaml"), folder / name)
    return files, _add_packages("clusters", files)


def recipe_files(folders: Sequence[Path]) -> tuple[dict[str, Path], list[Problem]]:
    """Return name → recipe.yaml of every recipe (the first on the search path), and the problems of packages."""
    files: dict[str, Path] = {}
    for folder in _recipe_folders(folders):
        for name in names_in(folder):
            if not name.startswith(".") and (folder / name / RECIPE_FILE).is_file():
                files.setdefault(name, folder / name / RECIPE_FILE)
    return files, _add_packages("recipes", files)


def _add_packages(kind: str, files: dict[str, Path]) -> list[Problem]:
    """Add the files of installed packages whose names are free; return what is wrong with the others.

    A project, an event and a user may have a file of the same name on purpose: then nothing is wrong.
    """
    problems: list[Problem] = []
    from hackathon.config import plug_ins

    free = {plug_in.name for plug_in in plug_ins.of_kind(kind)} - files.keys()
    for plug_in in plug_ins.of_kind(kind):
        try:
            if plug_in.name in free:
                plug_ins.find(kind, plug_in.name)  # which refuses a name of two packages
                files[plug_in.name] = plug_ins.file_of(plug_in)
            elif origin_of(files[plug_in.name], ()) == TOOLKIT:
                raise RequestError(
                    "plug_ins.hidden",
                    "{name} ({group}) of the package {package} is not used: the toolkit has its own.",
                    name=plug_in.name,
                    group=f"hackathon.{kind}",
                    package=plug_in.package,
                )
        except RequestError as error:
            problems.append(problem_of(plug_in, error))
    return problems


def problem_of(plug_in: "PlugIn", error: RequestError) -> Problem:
    """Return an error of a package among those of files: where a file has its name, the package has its own."""
    return Problem(error.id, Path(plug_in.package), values=dict(error.values))


def _of_package(kind: str, name: str) -> Path | None:
    from hackathon.config import plug_ins

    plug_in = plug_ins.find(kind, name)
    return plug_ins.file_of(plug_in) if plug_in is not None else None


def origin_of(path: Path, folders: Sequence[Path]) -> str:
    """Return whose a file on the search path is.

    That is PROJECT_FILE or EVENT for one of the folders, else TOOLKIT, USER, or a package's name and version.
    """
    for folder in folders:
        if path.is_relative_to(folder):
            return PROJECT_FILE if (folder / PROJECT_FILE).is_file() else EVENT
    if path.is_relative_to(shipped("templates")) or path.is_relative_to(shipped("recipes")):
        return TOOLKIT
    from hackathon.config import plug_ins

    own = any(path.is_relative_to(folder.parent) for folder in user_folder("clusters"))
    plug_in = None if own else plug_ins.owner(path)
    return USER if plug_in is None else plug_in.package


def package_of(path: Path, folders: Sequence[Path]) -> str | None:
    """Return name and version of the installed package that brings a file, None for any other file."""
    origin = origin_of(path, folders)
    return None if origin in (TOOLKIT, USER, EVENT, PROJECT_FILE) else origin


def names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []


def _unknown(identifier: str, with_near: str, name: str, files: dict[str, Path]) -> RequestError:
    near = nearest(name, files)
    if near:
        return RequestError(with_near, name=shown(name), near=near)
    return RequestError(identifier, name=shown(name), known=listing(sorted(files)) or "–")


def _upwards(start: Path, name: str) -> Path | None:
    folder = start.absolute()
    for candidate in (folder, *folder.parents):
        if os.path.isfile(candidate / name):  # noqa: PTH113
            return candidate
    return None


def cache_key(kind: str, name: str | None, raw: bytes) -> str:
    """Return the cache key for the result of checking these bytes."""
    head = json.dumps([__version__, _source_version(), kind, name])
    return hashlib.sha256(head.encode() + b"\0" + raw).hexdigest()


def recall(key: str) -> Any | None:
    """Return the cached value of a key, or None when it is missing or damaged."""
    try:
        with open_regular(_cache_folder() / f"{key}.json") as stream:
            content = stream.read()
        digest, _, payload = content.partition(b"\n")
        if digest != hashlib.sha256(payload).hexdigest().encode():
            return None
        return json.loads(payload)
    except (OSError, ValueError, RuntimeError, RecursionError):
        return None


def keep(key: str, value: Any) -> None:
    """Cache a JSON value, readable only by its owner; write errors are ignored."""
    payload = json.dumps(value, ensure_ascii=False).encode()
    try:
        folder = _cache_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        digest = hashlib.sha256(payload).hexdigest().encode()
        write_whole(folder / f"{key}.json", digest + b"\n" + payload, mode=0o600)
        _forget_oldest(folder)
    except (OSError, ValueError, RuntimeError):
        return


def _cache_folder() -> Path:
    return user_cache() / "config"


def _forget_oldest(folder: Path) -> None:
    with os.scandir(folder) as entries:
        cached = [entry for entry in entries if entry.name.endswith(".json")]
    if len(cached) > KEPT:
        for entry in sorted(cached, key=lambda file: file.stat().st_mtime)[: len(cached) - KEPT * 3 // 4]:
            Path(entry.path).unlink(missing_ok=True)


@functools.cache
def _source_version() -> str:
    """Return a text that changes with the code that checks files: names, sizes and times of its modules."""
    package = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    units = os.path.join(os.path.dirname(package), "text")  # noqa: PTH118, PTH120
    marks = []
    for folder, file_name in ((package, None), (units, "units.py")):
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py") and file_name in (None, entry.name):
                    status = entry.stat()
                    marks.append(f"{entry.name}:{status.st_size}:{status.st_mtime_ns}")
    return " ".join(sorted(marks))
