"""Rules about two things of which one is older: the advice does not keep the fault, and healthy lines are no fault."""

import re
from pathlib import Path

import pytest

from hackathon.config.rule_files import load_rule_file
from hackathon.diagnosis import diagnose
from hackathon.diagnosis.scan import RuleSet
from hackathon.text.paths import shipped

GENCODE = "Protobuf Gencode/Runtime {} when loading a.proto: gencode 6.31.1 runtime 5.29.5."
NUMPY_OLD = "RuntimeError: module compiled against API version 0x10 but this version of numpy is 0xf"
SIZE = "ValueError: numpy.{} size changed, may indicate binary incompatibility. Expected 96 from C header, got 88"
EIGH = "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned (error code: 3)."
PCIE = "pcieport 0000:17:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"
SKIPPED = "detected inf or nan values in gradients. not updating model parameters"
HESSIAN = "ConvergenceWarning: The Hessian matrix at the estimated parameter values is not positive definite."
FOAM = "trapFpe: Floating point exception trapping enabled (FOAM_SIGFPE)."
CUDA_APART = "Installed CUDA version 12.2 does not match the version torch was compiled with 12.1"
SHM_OBJECT = "RuntimeError: unable to open shared memory object </torch_4_5> in read-write mode: "
SIZES = "RuntimeError: The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension 1"
COPIED = "copying a param with shape torch.Size([8]) from checkpoint, the shape in current model is torch.Size([16])."
POOL = "HTTPConnectionPool(host='{}', port={}): Max retries exceeded with url: /x (Caused by NewConnectionError())"
KERAS = "Exception: URL fetch failure on https://host/a.npz: "


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    """The shipped rules of the parts that are asked for here."""
    folder = shipped("templates", "rules")
    return RuleSet(
        rule for part in ("env", "cuda", "numerics", "hardware") for rule in load_rule_file(folder / f"{part}.yaml")
    )


@pytest.fixture(scope="module")
def all_rules() -> RuleSet:
    """All shipped rules, as for some lines a rule of another part is the better one."""
    return RuleSet(
        rule for file in sorted(shipped("templates", "rules").glob("*.yaml")) for rule in load_rule_file(file)
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


@pytest.mark.parametrize(
    ("text", "rules_found"),
    [
        # what a program skipped and went on after
        (SKIPPED, []),
        ("WARNING: found NaN in the gradients\nSkipping model update.", []),
        ("non-finite gradients: skipping optimizer and scheduler step", []),
        ("Loss is nan.\nPatience not yet exhausted, ignoring this batch.", []),
        ("loss is nan, skipping this batch", []),
        ("No NaN found in activation.", []),
        (FOAM, []),
        (HESSIAN, []),
        # the same words where it did end
        ("Loss is nan, stopping training\nGradient overflow.  Skipping step, loss scaler 0", ["numerics-nan-loss"]),
        ("ValueError: Loss is not finite and patience is exhausted.", ["numerics-nan-loss"]),
        ("NaN found in activation 2.\nRuntimeError: stopped", ["numerics-nan-values"]),
        ("detected inf or nan in gradients\nskipping the checkpoint of step 3", ["numerics-nan-values"]),
        (f"{FOAM}\n/bin/sh: line 1: 77 Floating point exception(core dumped) simpleFoam", ["numerics-division-trap"]),
        ("numpy.linalg.LinAlgError: Matrix is not positive definite", ["numerics-not-converged"]),
        # DeepSpeed says that it goes on
        (f"{CUDA_APART} but since the APIs are compatible, accepting this combination", []),
        (f"{CUDA_APART}.Detected `DS_SKIP_CUDA_CHECK=1`: Allowing this combination of CUDA, but", []),
        (f"{CUDA_APART}, unable to compile cuda/cpp extensions", ["cuda-toolkit-mismatch"]),
        # a module that pip cannot bring
        ("ModuleNotFoundError: No module named 'distutils'", ["framework-new-python"]),
        ("ModuleNotFoundError: No module named 'distutils.msvccompiler'", ["env-module-part"]),
        ("ModuleNotFoundError: No module named 'tensorflow.contrib'", ["tensorflow-version-gap"]),
        ("ModuleNotFoundError: No module named 'tensorflow.examples.tutorials'", ["tensorflow-version-gap"]),
        ("ModuleNotFoundError: No module named 'tensorflow.python.keras'", ["tensorflow-version-gap"]),
        ("ModuleNotFoundError: No module named 'keras.engine'", ["tensorflow-version-gap"]),
        ("ModuleNotFoundError: No module named 'keras.src.legacy'", ["tensorflow-version-gap"]),
        ("ModuleNotFoundError: No module named 'keras.utils.np_utils'", ["tensorflow-version-gap"]),
        ("ModuleNotFoundError: No module named 'horovod.torch.mpi_lib'", ["horovod-not-built"]),
        ("ImportError: No module named 'horovod.torch.mpi_lib_v2'", ["horovod-not-built"]),
        ("ModuleNotFoundError: No module named 'tensorflow'", ["env-module-missing"]),
        ("ModuleNotFoundError: No module named 'keras'", ["env-module-missing"]),
        ("ModuleNotFoundError: No module named 'horovod'", ["env-module-missing"]),
        # one message, two reasons
        ("Failed to initialize NVML: Unknown Error", ["gpu-container-detached"]),
        ("Failed to initialize NVML: GPU is lost", ["gpu-lost"]),
        (f"{SHM_OBJECT}Too many open files (24)", ["filesystem-too-many-open"]),
        (f"{SHM_OBJECT}No space left on device (28)", ["filesystem-shm-full"]),
        ("urllib.error.HTTPError: HTTP Error 403: Forbidden", ["data-download-refused"]),
        ("urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>", ["data-download-offline"]),
        (f"{KERAS}404 -- Not Found", ["data-download-refused"]),
        (f"{KERAS}None -- [Errno -2] Name or service not known", ["data-download-offline"]),
        ("ValueError: Memory growth cannot differ between GPU devices", ["tensorflow-memory-growth"]),
        ("AttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'", ["framework-extension-not-built"]),
        ("RuntimeError: Error building extension 'fused_adam'", ["framework-extension-not-built"]),
        ("RuntimeError: Ninja is required to load C++ extensions", ["framework-no-compiler"]),
        # warnings and other messages in words of training libraries
        ("UserWarning: torch.utils.checkpoint: please pass in use_reentrant=True or use_reentrant=False", []),
        ("[NeMo W nemo_logging:349] Apex was not found. Please see the NeMo README for installation instructions", []),
        ("WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:", []),
        ("val: WARNING No labels found in /data/labels/val.cache. See https://docs.ultralytics.com", []),
        ("wandb: Network error (ConnectTimeout), entering retry loop.", []),
        ("2026/11/20 WARNING mlflow.utils: Changing param values is not allowed. Param with key='lr'", []),
        ("IndexError: Invalid key: 12 is out of bounds for size 10", []),
        (f"{SIZES.format(4, 10)}", ["framework-shape-mismatch"]),
        (f"{SIZES.format(0, 4096)}", ["framework-shape-mismatch", "empty-tensor-meets"]),
        (f"size mismatch for fc.weight: {COPIED}", ["framework-checkpoint-keys"]),
        (f"size mismatch for base.q.lora_A.default.weight: {COPIED}", ["framework-checkpoint-keys", "peft-other-base"]),
        (f"{POOL.format('huggingface.co', 443)}", ["data-download-offline"]),
        (f"{POOL.format('127.0.0.1', 8000)}", ["local-server-refused"]),
        ("KeyError: \"class `Net` in own/model.py: 'width'\"", ["openmmlab-build"]),
        ("TypeError: Net.__init__() got an unexpected keyword argument 'width'", ["framework-unknown-keyword"]),
        ("ImportError: cannot import name 'layer' from 'timber'", ["env-import-name"]),
        ("OSError: dlopen(self._name, mode)", []),
    ],
)
def test_words_that_look_alike_are_told_apart(text: str, rules_found: list[str], all_rules: RuleSet) -> None:
    found = [hit.rule.id for hit in all_rules.scanner.scan_text(text) if hit.rule.level != "benign"]
    assert [name for name in found if name != "python-exception"] == rules_found


@pytest.mark.parametrize(
    ("rule", "present", "absent"),
    [
        ("env-module-missing", ["environment:", "opencv-python", "PyYAML", "pillow", "apex"], "install {module}"),
        ("mpi-shared-memory-full", ["btl_vader_backing_directory", "btl_sm_backing_directory"], "TMPDIR=/dev/shm"),
        ("cuda-cudnn-version", ["--force-reinstall torch==", "tensorflow[and-cuda]=="], "nvidia-cudnn-cu12"),
        ("gpu-container-detached", ["nvidia-smi"], "--exclude"),
        ("tensorflow-memory-growth", ["set_memory_growth"], "import tensorflow"),
        ("framework-new-python", ["pip install setuptools"], "\n"),
        ("framework-no-compiler", ["pip install ninja", "PATH", "Triton"], "\n"),
        ("framework-extension-not-built", ["torch_extensions"], "TORCHDYNAMO"),
        ("framework-autograd-order", ["broadcast_buffers=False"], "\n"),
        ("data-download-refused", ["403"], "HF_HUB_OFFLINE"),
    ],
)
def test_the_advice_can_be_followed(rule: str, present: list[str], absent: str, all_rules: RuleSet) -> None:
    [advice] = [each.advice for each in all_rules if each.id == rule]
    assert isinstance(advice, dict)
    for text in advice.values():
        assert all(word in text for word in present) and absent not in text


@pytest.mark.parametrize(
    ("lines", "rules_found"),
    [
        (
            [
                f"CUDAMismatchException: {CUDA_APART}, unable to compile",
                "AttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'",
            ],
            ["cuda-toolkit-mismatch", "framework-extension-not-built"],
        ),
        (
            ["Failed to initialize NVML: Unknown Error", "RuntimeError: No CUDA GPUs are available"],
            ["gpu-container-detached", "gpu-none-visible"],
        ),
    ],
)
def test_what_follows_is_not_the_cause(
    lines: list[str], rules_found: list[str], all_rules: RuleSet, tmp_path: Path
) -> None:
    log = tmp_path / "job.log"
    log.write_text("\n".join(lines) + "\n")
    found = [(each.rule, each.level) for each in diagnose([log], rules=all_rules)]
    assert found == list(zip(rules_found, ["root", "secondary"], strict=True))


OPTIONS = re.compile(r"(?<![\w-])--(?:mem|exclude|no-requeue|qos|constraint)\b|select=1:mem|`-r n`")
"""Options of schedulers for which a project has keys of its own."""
OF_STEPS = frozenset({"scheduler-step-not-created", "scheduler-step-waits"})
"""Rules about `srun` in a script of one's own, which has options only."""


def test_advice_names_the_keys_of_a_project_beside_a_schedulers_options() -> None:
    rules = [rule for file in sorted(shipped("templates", "rules").glob("*.yaml")) for rule in load_rule_file(file)]
    texts = {
        (rule.id, language): text
        for rule in rules
        if rule.advice and rule.id not in OF_STEPS
        for language, text in (rule.advice.items() if isinstance(rule.advice, dict) else [("en", rule.advice)])
    }
    with_options = {place: text for place, text in texts.items() if OPTIONS.search(text)}
    assert len(with_options) >= 20
    assert [place for place, text in with_options.items() if not re.search("directives:|memory:", text)] == []
    more = {place for place, text in texts.items() if re.search("[Aa]sk for more memory", text)}
    assert len(more) >= 6 and [place for place in more if "memory: 64 GB" not in texts[place]] == []
