"""A questionnaire: `survey.yaml`."""

from dataclasses import dataclass, field
from typing import Literal

from hackathon.config.records import Natural, Positive, Text


@dataclass(frozen=True)
class Question:
    """One item of a questionnaire."""

    id: str
    """Its name in answers and tables: letters, digits and _."""
    kind: Literal["rating", "choice", "choices", "number", "text"]
    """rating: a level between two ends; choice: one of `options`; choices: several; number; text: free text."""
    text: Text
    """The question."""
    help: Text = ""
    """A line below it."""
    required: bool = False
    """Whether an answer is required."""
    levels: Positive = 5
    """rating: levels 1…N."""
    low: Text = ""
    """rating: meaning of level 1, e.g. short."""
    high: Text = ""
    """rating: meaning of the highest level, e.g. long."""
    target: Literal["middle", "high", "low"] | None = None
    """rating: which levels are good; required. middle: between two bad ends."""
    options: dict[str, Text] = field(default_factory=dict)
    """choice, choices: value → label."""
    options_from: Literal["teams", "kinds", "days"] | None = None
    """choice, choices: the options are the event's teams, kinds of participants, or days when the survey is opened."""
    least: float | None = None
    """number: minimum."""
    most: float | None = None
    """number: maximum."""
    unit: Text = ""
    """number: its unit."""
    longest: Positive = 4000
    """text: maximum length in characters."""


@dataclass(frozen=True)
class Survey:
    """A questionnaire."""

    title: Text
    """Its name."""
    introduction: Text = ""
    """The text above the questions, besides the promise of anonymity."""
    thanks: Text = ""
    """The text after an answer."""
    audience: Literal["participants", "tutors"] = "participants"
    """The respondents; the response rate is relative to their number in hackathon.yaml."""
    anonymous: bool = True
    """false: organisers and tutors read each answer with its team, the form says so, and nothing is ever published."""
    languages: list[Literal["en", "ja"]] = field(default_factory=lambda: ["ja", "en"])
    """Languages of the form, the first one first."""
    questions: list[Question] = field(default_factory=list)
    """The questions in order."""
    breakdowns: list[str] = field(default_factory=list)
    """Ids of `choice` questions by which results are split, if the groups are large enough."""
    smallest_group: Positive = 5
    """The least number of respondents whose answers are published."""
    tags: dict[str, list[str]] = field(default_factory=dict)
    """Tag → words that add it to sentences of free answers; default: thanks, request, difficulty."""
    headline: bool = False
    """Whether its response rate is that of the event; default: that of the participants' survey with most invited."""
    invited: Natural | None = None
    """Number of invited people; default: by `audience`, from hackathon.yaml."""
