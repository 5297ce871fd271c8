"""Toolkit for distributed deep-learning hackathons on shared supercomputers.

From Python: `hackathon.project(path)` opens a project with its runs and studies; `diagnose`, `predict`, `render`,
`submit` and `wait` do what the commands of these names do. Importing this package loads only the standard library.
"""

__version__ = "0.1.0"
archive: str | None = None
"""The bundle (`make bundle`) that the toolkit runs from: one file with all that it needs; None when it is installed."""

_PUBLIC = {
    "api/project": (
        "project", "render", "submit", "wait", "HackathonProject", "HackathonStudy", "HackathonRun", "Runs", "Studies",
    ),
    "api/exports": ("StudyExport",),
    "api/results": ("StudyResults", "ResultSeries", "ResultPoint", "ResultRun", "ResultDoubt"),
    "api/diagnosis": ("diagnose", "DiagnosisReport"),
    "api/prediction": ("predict", "ThroughputForecast", "PredictedSize"),
    "text/errors": ("HackathonError", "RequestError", "UnavailableError"),
}  # fmt: skip
"""Module → its public names; it is imported when one of them is used. `__init__.pyi` has their types."""
__all__ = ["__version__", *(name for names in _PUBLIC.values() for name in names)]


def __getattr__(name: str) -> object:
    """Return a public name, whose module is imported now."""
    import importlib

    for module, names in _PUBLIC.items():
        if name in names:
            value: object = getattr(importlib.import_module(f"hackathon.{module.replace('/', '.')}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'hackathon' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
