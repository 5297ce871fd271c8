"""JSON of commands about jobs, scripts, recipes and environments."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from hackathon.api.prediction import PredictedTraining, ShapeWeight, SizeAdvice
from hackathon.cli.json_types.nested import CheckedFileJson, LintFindingJson, SubmittedJson, Values
from hackathon.cli.json_types.runs import WaitedJson
from hackathon.config.recipe import Recipe


class ViolationJson(TypedDict):
    """Why the job would be refused."""

    id: str
    text: str


class NearestJson(TypedDict):
    """The nearest request that is accepted."""

    queue: str | None
    nodes: int
    processes: int
    processes_per_node: int
    walltime: int


class BudgetAmountJson(TypedDict):
    """One kind of budget."""

    kind: str
    budget: float
    used: float
    waiting: float
    request: float
    left: float
    over: bool


class BudgetJson(TypedDict):
    """The team's budget."""

    team: str | None
    cluster: str
    folders: int
    unread: int
    spent: bool
    over: bool
    amounts: list[BudgetAmountJson]


class CopiedSourceJson(TypedDict):
    """The files that a run would get."""

    files: int
    bytes: int
    linked: list[str]


class ReachableJson(TypedDict):
    """What a study predicts for the job."""

    study: str
    unit: str
    processes: int
    value: float
    low: float
    high: float
    efficiency: float
    level: float | None
    basis: str
    seconds: float | None
    tokens: float | None
    shapes: list[ShapeWeight]
    warnings: list[str]
    training: PredictedTraining | None
    advice: SizeAdvice | None


class CheckJson(TypedDict):
    """Whether the cluster accepts the job."""

    ok: bool
    violations: list[ViolationJson]
    nearest: NearestJson | None
    budget: BudgetJson | None
    source: CopiedSourceJson | None
    prediction: ReachableJson | None
    files: list[CheckedFileJson]
    """Findings in the program."""


class RenderedJson(TypedDict):
    """The scripts of a job, with the request as in `request.json` of a run."""

    request: Values
    job: str
    library: str
    rank: str
    files: NotRequired[Mapping[str, str]]


class RenderedFolderJson(TypedDict):
    """The folder to submit from, with `--to`."""

    folder: str
    command_options: list[str]


class RenderedFilesJson(TypedDict):
    """All files, with `--all`."""

    files: Mapping[str, str]


RenderJson = RenderedJson | RenderedFolderJson | RenderedFilesJson


class LintedJson(TypedDict):
    """Mistakes in scripts."""

    files: list[CheckedFileJson]


class LintRuleJson(TypedDict):
    """A rule of `lint`."""

    rule: str
    severity: str
    effect: str
    message: str


class LintRulesJson(TypedDict):
    """All rules, with `--rules`."""

    rules: list[LintRuleJson]


LintJson = LintedJson | LintRulesJson


class LostLineJson(TypedDict):
    """What has no equivalent."""

    line: int
    text: str
    why: str


ConvertedValueJson = TypedDict("ConvertedValueJson", {"field": str, "from": str, "to": str, "why": str})
ConvertJson = TypedDict(
    "ConvertJson",
    {
        "from": str,
        "to": str,
        "script": str | None,
        "refused": str | None,
        "not_translated": list[LostLineJson],
        "changed": list[ConvertedValueJson],
        "findings": list[LintFindingJson],
    },
)


class PortedFileJson(CheckedFileJson):
    """A program or a module of it, changed for several processes."""

    status: str
    sure: bool
    """Whether no question is open."""
    diff: str


class PortJson(TypedDict):
    """A program changed for several processes."""

    files: list[PortedFileJson]
    written: str | None


ListedRecipeJson = TypedDict("ListedRecipeJson", {"name": str, "framework": str, "title": str, "from": str})


class RecipeListJson(TypedDict):
    """All recipes."""

    recipes: list[ListedRecipeJson]
    problems: list[str]


RecipePlaceJson = TypedDict("RecipePlaceJson", {"folder": str, "from": str})
RecipesJson = [RecipeListJson, (Recipe, RecipePlaceJson)]


class BuiltEnvironmentJson(TypedDict):
    """An environment that is built."""

    path: str
    new: bool
    lock: str
    commands: list[str]
    packages: Mapping[str, str]


EnvCreateJson = BuiltEnvironmentJson | SubmittedJson | WaitedJson


class EnvironmentJson(TypedDict, total=False):
    """An environment; what its record does not tell is absent."""

    name: str
    variant: str
    digest: str
    built: str
    host: str
    commands: list[str]
    packages: Mapping[str, str]
    path: str


class EnvListJson(TypedDict):
    """All environments."""

    folder: str
    environments: list[EnvironmentJson]


class EnvShowJson(TypedDict):
    """The environments of a recipe."""

    environments: list[EnvironmentJson]


class PageJson(TypedDict):
    """A page of the documentation."""

    name: str
    kind: str
    language: str
    title: str
    text: str


class DocsJson(TypedDict):
    """Pages of the documentation."""

    pages: list[PageJson]


class PlugInJson(TypedDict):
    """An entry point of an installed package."""

    kind: str
    name: str
    target: str
    distribution: str
    version: str
    group: str
    state: str
    problem: str | None


class PluginsJson(TypedDict):
    """What installed packages add."""

    plugins: list[PlugInJson]
