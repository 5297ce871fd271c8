"""Values of `reference.yaml` that must agree: tolerances and what they belong to."""

from hackathon.config.records import KeyPath
from hackathon.config.reference import Expectation, ReferenceFile
from hackathon.config.report import Report
from hackathon.text.messages import Message


def check_reference(reference: ReferenceFile, report: Report) -> None:
    """Report what makes an expectation meaningless."""
    if not any(reference.clusters.values()):
        report.add(Message("reference.empty", "there are no expected results"), ("clusters",))
    for cluster, expectations in reference.clusters.items():
        for index, expectation in enumerate(expectations):
            _expectation(expectation, ("clusters", cluster, index), report)


def _expectation(expectation: Expectation, path: KeyPath, report: Report) -> None:
    if expectation.value <= 0:
        report.add(
            Message("reference.no_value", "must be greater than 0, because the tolerance is relative to it"),
            (*path, "value"),
        )
    bounds = expectation.tolerance
    if isinstance(bounds, list):
        lower, upper = bounds if len(bounds) == 2 else (1.0, -1.0)
        good = (lower is None or lower <= 0) and (upper is None or upper >= 0) and (lower, upper) != (None, None)
    else:
        good = bounds >= 0
    if not good:
        report.add(
            Message(
                "reference.tolerance",
                "must be a share such as 0.05, or [lower, upper] such as [-0.05, 0.1], with null for no bound",
            ),
            (*path, "tolerance"),
        )
    if expectation.quantity != "value" and expectation.processes is None:
        report.add(Message("reference.no_size", "is needed for a speed-up or an efficiency"), (*path, "processes"))
