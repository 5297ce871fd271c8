"""The recorded answers of PBS in the form that the toolkit asks for."""

import json
import re
from pathlib import Path

from hackathon.schedulers.pbs import commands

SAMPLES = Path(commands.__file__).parent / "samples"


def as_text(name: str) -> str:
    """Return a JSON sample in the text form: the same attributes, nested ones as `name.key`."""
    lines = []
    for job_id, attributes in json.loads((SAMPLES / name).read_text("utf-8", "surrogateescape"))["Jobs"].items():
        lines.append(f"Job Id: {job_id}")
        for key, value in attributes.items():
            if key == "Variable_List":
                value = ",".join(f"{name}={entry}" for name, entry in value.items())
            for inner, entry in value.items() if isinstance(value, dict) else [("", value)]:
                lines.append(f"    {key}{'.' if inner else ''}{inner} = {entry}")
        lines.append("")
    return "\n".join(lines) + "\n"


def blocks_of(name: str) -> list[str]:
    """Return every whole `Job Id:` block of a sample in the text form, with the empty line that ends it."""
    return re.findall(
        r"^Job Id: .*\n(?:[ \t].*\n)*\n", (SAMPLES / name).read_text("utf-8", "surrogateescape"), re.MULTILINE
    )
