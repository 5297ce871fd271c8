"""All keys of the YAML files, from the records that read them. In English, like these records."""

from hackathon.cli.reference import cell, code
from hackathon.config.schema import RECORDS, field_reference
from hackathon.schedulers.registry import BUILT_IN, dialect_types

HEADINGS = {
    "project": "A team's project",
    "recipe": "A training program with its parameters",
    "cluster": "A machine. See [how to add one](../how-to/add-a-cluster.md) and [those that are shipped](clusters.md)",
    "event": "One hackathon, in a folder above its projects",
    "survey": "A questionnaire of an event, in `surveys/NAME/`",
    "rule": "Failures that can be recognised. See [how to add a rule](../how-to/add-a-rule.md) and"
    " [those that are shipped](rules.md)",
    "reference": "Expected results per cluster. See [how to test performance](../how-to/test-performance-in-ci.md)",
    "user": "What the user wants when the project is silent",
}
_EMPTY = frozenset({"null", '""', "{}", "[]"})


def listing() -> str:
    """Return a table of keys for each file; `hackathon schema cluster` also lists the keys of plug-in schedulers."""
    dialects = {name: record for name, record in dialect_types().items() if name in BUILT_IN}
    sections = []
    for name, (_, file) in RECORDS.items():
        lines = [f"## {name}", "", f"`{file}` — {HEADINGS[name]}.", "", "| key | type | default | meaning |"]
        lines += ["|---|---|---|---|"]
        for entry in field_reference(name, dialects):
            default = (
                "**required**" if entry.default is None else "–" if entry.default in _EMPTY else code(entry.default)
            )
            lines.append(f"| `{entry.key}` | {code(entry.type)} | {default} | {cell(entry.description)} |")
        sections.append("\n".join(lines) + "\n")
    return "\n".join(sections)
