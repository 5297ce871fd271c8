"""Rules about two things of which one is older: the advice does not keep the fault, and healthy lines are no fault."""

from pathlib import Path

import pytest

from hackathon.config.load import load_rule_file
from hackathon.diagnosis import diagnose
from hackathon.diagnosis.scan import RuleSet
from hackathon.text.paths import shipped

GENCODE = "Protobuf Gencode/Runtime {} when loading a.proto: gencode 6.31.1 runtime 5.29.5."
NUMPY_OLD = "RuntimeError: module compiled against API version 0x10 but this version of numpy is 0xf"
SIZE = "ValueError: numpy.{} size changed, may indicate binary incompatibility. Expected 96 from C header, got 88"
EIGH = "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned (error code: 3)."
PCIE = "pcieport 0000:17:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    """The shipped rules of the parts that are asked for here."""
    folder = shipped("templates", "rules")
    return RuleSet(
        rule for part in ("env", "cuda", "numerics", "hardware") for rule in load_rule_file(folder / f"{part}.yaml")
    )


@pytest.mark.parametrize(
    ("text", "rule", "typed"),
    [
        ("TypeError: Descriptors cannot be created directly.", "env-protobuf", "'protobuf<3.21'"),
        ("cannot import name 'runtime_version' from 'google.protobuf' (x)", "env-protobuf-old", "--upgrade protobuf"),
        ("cannot import name 'builder' from 'google.protobuf.internal'", "env-protobuf-old", "--upgrade protobuf"),
        (f"Detected incompatible {GENCODE.format('versions')}", "env-protobuf-old", "--upgrade protobuf"),
        (f"Detected mismatched {GENCODE.format('major versions')}", "env-protobuf-apart", "protobuf=={gencode}"),
        ("AttributeError: _ARRAY_API not found", "env-numpy-abi", "'numpy<2'"),
        (SIZE.format("dtype"), "env-numpy-abi", "'numpy<2'"),
        (SIZE.format("ndarray"), "env-numpy-old", "--upgrade numpy"),
        (NUMPY_OLD, "env-numpy-old", "--upgrade numpy"),
        ("module compiled against ABI version 0x1000009 but this version of numpy is 0x2000000", "env-numpy-abi", "<2"),
        ("PyTorch no longer supports this GPU because it is too old.", "cuda-no-kernel-image", "whl/cu126"),
        ("RuntimeError: no kernel image is available for execution on the device", "cuda-no-kernel-image", "whl/cu128"),
        ("WARNING: The grad norm is nan. Stopping.", "numerics-nan-values", "torch.isfinite"),
        (f"torch._C._LinAlgError: {EIGH}", "numerics-not-converged", "float64"),
        ("srun: error: node4: task 0: Bus error", "hardware-bus-error", "/dev/shm"),
    ],
)
def test_the_advice_does_not_keep_the_fault(text: str, rule: str, typed: str, rules: RuleSet) -> None:
    hits = {hit.rule.id: hit.rule.advice for hit in rules.scanner.scan_text(text)}
    assert list(hits) == [rule]
    assert isinstance(hits[rule], dict) and all(typed in advice for advice in hits[rule].values())


def test_what_follows_from_an_old_numpy_is_not_the_cause(rules: RuleSet, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(f"{NUMPY_OLD}\nImportError: numpy.core.multiarray failed to import\n")
    found = [(each.rule, each.level) for each in diagnose([log], rules=rules)]
    assert found == [("env-numpy-old", "root"), ("env-numpy-import", "secondary")]


@pytest.mark.parametrize(
    "text",
    ["WARNING: The grad norm is nan. Skipping updating the model.", f"{EIGH}! Retrying in double precision...", PCIE],
)
def test_what_a_program_or_node_mended_itself_is_no_fault(text: str, rules: RuleSet) -> None:
    assert [hit.rule.id for hit in rules.scanner.scan_text(text)] == []
