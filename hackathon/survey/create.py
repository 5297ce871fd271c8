"""Create a survey's folder from a shipped questionnaire or from a file."""

import os
import secrets
import shutil
from pathlib import Path

from hackathon.survey.collection import Collection
from hackathon.survey.durable import names
from hackathon.survey.storage import SURVEY_FILE, survey_name, surveys_folder
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.paths import shipped


def templates() -> list[str]:
    """Return the names of the shipped questionnaires."""
    return [name.removesuffix(".yaml") for name in names(shipped("templates", "surveys")) if name.endswith(".yaml")]


def new_survey(name: str, start: Path, template: str = "hackathon", source: Path | None = None) -> Collection:
    """Create `surveys/<name>/survey.yaml` in the event around a folder and return the survey.

    Raises RequestError (name, no event, the survey exists, no such template), ConfigError (the questionnaire is
    invalid) and HackathonError (no permission).
    """
    from hackathon.config.load import load_survey
    from hackathon.config.problems import nearest, read_bounded

    folder = surveys_folder(start) / survey_name(name)
    if source is None:
        source = shipped("templates", "surveys", f"{template}.yaml")
        available = templates()
        if template not in available:
            near = nearest(template, available)
            raise RequestError(
                "survey.no_template",
                "there is no questionnaire {name}; shipped: {known}",
                hint="--template {near}; to use your own file: --from FILE",
                name=template,
                known=", ".join(available),
                near=near or "hackathon",
            )
    raw = read_bounded(source)
    load_survey(source)
    if os.path.lexists(folder):
        raise RequestError(
            "survey.there_already",
            "{folder} already exists",
            hint="choose another name; nothing was changed",
            folder=folder,
        )
    hidden = folder.with_name(f".{name}.{secrets.token_hex(6)}.tmp")
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        hidden.mkdir(mode=0o700)
        hidden.chmod(0o700)
        (hidden / SURVEY_FILE).write_bytes(raw)
        hidden.rename(folder)
    except OSError as error:
        shutil.rmtree(hidden, ignore_errors=True)
        raise HackathonError(
            "survey.can_not_make", "cannot create {folder}: {what}", folder=folder, what=error.strerror or error
        ) from error
    return Collection(folder)
