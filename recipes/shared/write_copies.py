"""Write the files that several recipes carry into the recipes' folders: `make recipes`.

A recipe's folder stands alone: `python train.py` needs nothing from outside it. So each recipe has copies of the files
that it shares with others, and this folder has the only ones that are edited.
"""

from pathlib import Path

SHARED = Path(__file__).resolve().parent
RECIPES = SHARED.parent
COPIES = {
    "hackathon_runtime.py": [
        "allreduce", "async-sgd", "chainermn-mnist", "horovod-keras", "horovod-torch", "pipeline-lm",
        "pipeline-resnet", "preflight", "tensorflow-multiworker", "torch-ddp", "torch-ddp-tuned", "torch-fsdp-lm",
    ],
    "checkpoint.py": ["torch-ddp", "torch-ddp-tuned"],
    "communication.py": ["torch-ddp", "torch-ddp-tuned"],
    "compression.py": ["torch-ddp", "torch-ddp-tuned"],
    "data.py": ["async-sgd", "horovod-torch", "pipeline-resnet", "torch-ddp"],
    "layer_splits.py": ["torch-ddp", "torch-ddp-tuned"],
    "learning_rate.py": ["horovod-torch", "torch-ddp", "torch-ddp-tuned"],
    "micro_batches.py": ["torch-ddp", "torch-ddp-tuned"],
    "noise_scale.py": ["torch-ddp", "torch-ddp-tuned"],
    "pipeline.py": ["pipeline-lm", "pipeline-resnet"],
    "processes.py": ["torch-ddp", "torch-ddp-tuned"],
    "resnet.py": ["horovod-torch", "pipeline-resnet", "torch-ddp", "torch-ddp-tuned"],
}  # fmt: skip
"""File of this folder → recipes that carry a copy of it."""


def copies() -> dict[Path, bytes]:
    """Return what `make recipes` writes: path → content."""
    made = {
        RECIPES / recipe / name: first_line(name).encode() + (SHARED / name).read_bytes()
        for name, recipes in COPIES.items()
        for recipe in recipes
    }
    marked = "".join(f"{path.relative_to(RECIPES.parent)} linguist-generated\n" for path in sorted(made))
    attributes = f"# Written by `make recipes`: copies of files in recipes/shared.\n{marked}"
    return {**made, RECIPES.parent / ".gitattributes": attributes.encode()}


def first_line(name: str) -> str:
    """Return the line that a copy begins with."""
    return f"# Copy of recipes/shared/{name}, written by `make recipes`; edit it there.\n"


if __name__ == "__main__":
    for path, content in copies().items():
        path.write_bytes(content)
