"""A questionnaire: `survey.yaml`."""

from dataclasses import dataclass, field
from typing import Literal

from hackathon.config.fields import Natural, Positive, Text


@dataclass(frozen=True)
class Question:
    """One item of a questionnaire."""

    id: str
    """Its name in answers and tables: letters, digits and _."""
    kind: Literal["rating", "choice", "choices", "number", "text"]
    """rating: a level between two ends; choice: one of `options`; choices: several; number; text: free words."""
    text: Text
    """The question."""
    help: Text = ""
    """A line below it."""
    required: bool = False
    """Whether an answer without it is refused."""
    levels: Positive = 5
    """rating: levels 1…N."""
    low: Text = ""
    """rating: what level 1 means, e.g. short."""
    high: Text = ""
    """rating: what the highest level means, e.g. long."""
    target: Literal["middle", "high", "low"] | None = None
    """rating: which levels are good; must be given. middle: between two bad ends."""
    options: dict[str, Text] = field(default_factory=dict)
    """choice, choices: value → label."""
    options_from: Literal["teams", "kinds", "days"] | None = None
    """choice, choices: the options are the event's teams, kinds of participants, or days, taken when it is opened."""
    least: float | None = None
    """number: the smallest."""
    most: float | None = None
    """number: the largest."""
    unit: Text = ""
    """number: its unit."""
    longest: Positive = 4000
    """text: letters at most."""


@dataclass(frozen=True)
class Survey:
    """A questionnaire."""

    title: Text
    """Its name."""
    introduction: Text = ""
    """What stands above the questions, beside the promise of anonymity."""
    thanks: Text = ""
    """What is said after an answer."""
    audience: Literal["participants", "tutors"] = "participants"
    """Who is asked: the response rate is told against their number in hackathon.yaml."""
    anonymous: bool = True
    """false: organisers and tutors read each answer with its team, the form says so, and nothing is ever published."""
    languages: list[Literal["en", "ja"]] = field(default_factory=lambda: ["ja", "en"])
    """Languages of the form, the first one first."""
    questions: list[Question] = field(default_factory=list)
    """What is asked, in this order."""
    breakdowns: list[str] = field(default_factory=list)
    """Ids of `choice` questions by which results are told apart, where groups are large enough."""
    smallest_group: Positive = 5
    """The least number of respondents of whom anything is published."""
    tags: dict[str, list[str]] = field(default_factory=dict)
    """Tag → words by which sentences of free answers get it; default: thanks, request, difficulty."""
    headline: bool = False
    """Whether its response rate stands for the event; default: that of the participants' survey with most invited."""
    invited: Natural | None = None
    """How many were asked; default: by `audience`, from hackathon.yaml."""
