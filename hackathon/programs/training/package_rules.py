"""Packages that a program imports at its start and that the environment of its job lacks."""

import ast
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hackathon.programs.training.module import Module
from hackathon.programs.training.program import TrainingProgram
from hackathon.runs.source.program_text import ProgramFile, imports, own_file

if TYPE_CHECKING:
    from hackathon.jobs.installed import InstalledPackages

STANDARD = sys.stdlib_module_names | {"asynchat", "asyncore", "cgi", "crypt", "distutils", "imp", "pipes", "smtpd"}
"""Modules of Python itself, including older versions that the job may use."""
PROJECTS = {
    **dict.fromkeys(
        ("torch", "torchvision", "torchaudio", "numpy", "scipy", "pandas", "matplotlib", "tqdm", "h5py", "chainer",
         "keras", "tensorflow", "timm", "einops", "transformers", "datasets", "accelerate", "lightning", "wandb",
         "tensorboard", "horovod", "mpi4py", "seaborn", "torchmetrics", "optuna", "evaluate", "peft", "omegaconf",
         "diffusers", "openai", "boto3", "gymnasium", "safetensors", "tokenizers", "sentencepiece", "trl", "wget",
         "tensorboardX", "networkx", "nltk", "librosa", "soundfile", "albumentations", "kornia", "mlflow", "requests",
         "rich", "fire", "deepspeed", "bitsandbytes", "webdataset", "imageio", "plotly", "sacrebleu", "jiwer")
    ),
    "cv2": "opencv-python-headless", "PIL": "pillow", "sklearn": "scikit-learn", "skimage": "scikit-image",
    "yaml": "pyyaml", "bs4": "beautifulsoup4", "dotenv": "python-dotenv", "pytorch_lightning": "pytorch-lightning",
    "MeCab": "mecab-python3", "hydra": "hydra-core", "sentence_transformers": "sentence-transformers",
    "torch_geometric": "torch-geometric", "huggingface_hub": "huggingface-hub",
}  # fmt: skip
"""Module → its pip name (None: the same). Others are not guessed: a similar name may be another package."""


def check_packages(program: TrainingProgram, packages: "InstalledPackages", entries: Sequence[str]) -> None:
    """Report each module that is imported outside any `try`, `if` or function and is not installed.

    Programs that change Python's search path are not checked.
    """
    if "sys.path" in program.text or "site.addsitedir" in program.text:
        return
    reported: set[str] = set()
    for module in _imported_at_start(program, entries):
        beside = module.name.rpartition("/")[0]
        for node in module.tree.body:
            for name in _imported(node):
                root = name.partition(".")[0]
                if root in reported or root in STANDARD or root in packages.names or root == "hackathon_runtime":
                    continue
                folders = {program.folder, program.folder / beside}
                if own_file(program.folder, beside, name) or any((path / root).is_dir() for path in folders):
                    continue
                if any((path / f"{root}.py").exists() for path in folders):
                    continue
                reported.add(root)
                project = (PROJECTS[root] or root) if root in PROJECTS else "…"
                pip = f"`{shlex.quote(str(packages.environment))}/bin/python -m pip install {project}`"
                module.look.add(
                    "package-missing", node.lineno, name=root, environment=str(packages.environment), pip=pip
                )


def _imported_at_start(program: TrainingProgram, entries: Sequence[str]) -> list[Module]:
    """Return the program's own modules that its start imports; others may be for a package that is optional."""
    modules = {module.name: module for module in program.modules}
    reached: dict[str, Module] = {}
    waiting = [name for name in entries if name in modules]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        module = reached[name] = modules[name]
        top = [node for node in module.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        text = ProgramFile(name, "\n".join(map(ast.unparse, top)))
        waiting += [own for own, _ in imports(program.folder, text) if own in modules]
    return [module for module in program.modules if module.name in reached]


def _imported(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
