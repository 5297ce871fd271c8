"""Rules about data: which samples a rank reads, what it writes, and where the files are."""

import ast
import re

from hackathon.programs.scripts.findings import Edit
from hackathon.programs.training.module import RANK, Module, keyword, text_value
from hackathon.programs.training.program import TrainingProgram
from hackathon.programs.training.shares import share_of
from hackathon.programs.training.situation import TrainingSituation

_DIVIDED = re.compile(
    r"Sampler\(|sampler\s*=|split_by_node|split_dataset_by_node|\.shard\(|scatter_dataset|webdataset|\bwds\b|dali"
    r"|\[\s*\w*rank\w*\s*::|rank\s*(?:\(\))?\s*::|distribute_dataset|partition|Subset\("
    r"|islice|%\s*[\w.]*(?:world|size|n_?ranks|nprocs|replicas)"
)
"""Words of a program that may divide its data between ranks in another way."""
_RANKED = re.compile(r"rank|world|shard|split|replica|worker|part|hash|local|env|host|node", re.I)
"""Words by which a class or its arguments may distinguish ranks."""
_RANDOM = re.compile(r"rand|shuffle|sample|choice|permut|normal|uniform|bernoulli", re.I)
_SHARDED = re.compile(
    r"FSDP|FullyShardedDataParallel|fully_shard|state_dict_type|distributed\.checkpoint|\bdcp\b|DTensor"
)
"""With one of these every rank must take part in saving."""
_OFFLINE = re.compile(r"local_files_only|HF_HUB_OFFLINE|TRANSFORMERS_OFFLINE|HF_DATASETS_OFFLINE")
_HUB = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?")
_BUILDERS = frozenset({"csv", "json", "text", "parquet", "arrow", "imagefolder", "audiofolder", "webdataset", "pandas"})
_SPEAKS = re.compile(r"rank", re.I)
DEPTH = 4
"""Levels of callers that are checked for code of one rank only."""


def check_data(program: TrainingProgram) -> None:
    """Report undivided data, epochs in the same order, and files that every rank writes."""
    if not program.wraps or program.framework:
        return
    complete = not program.strangers
    divided = _DIVIDED.search(program.text)
    streams = "IterableDataset" in program.text
    for module in program.modules:
        if complete and not divided and not streams:
            _no_sampler(program, module, "same-data" if _seeded(program) else "no-sampler")
        if complete and not divided:
            _same_stream(program, module)
        if complete and "set_epoch" not in program.text:
            _no_set_epoch(module)
        if not _SHARDED.search(program.text):
            _saves(program, module)


def _seeded(program: TrainingProgram) -> bool:
    """Return whether all ranks draw the same random numbers: every seed is a number and always set."""
    seeds = [
        call.args[0]
        for module in program.modules
        for call, name in module.calls
        if name in ("torch.manual_seed", "torch.random.manual_seed") and len(call.args) == 1
        if not any(module.tests(call))
    ]
    generators = program.called("Generator", "worker_init_fn")
    return bool(seeds) and not generators and all(isinstance(seed, ast.Constant) for seed in seeds)


def _no_sampler(program: TrainingProgram, module: Module, rule: str) -> None:
    for call, name in module.calls:
        if name not in ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"):
            continue
        shuffle = keyword(call, "shuffle")
        if not isinstance(shuffle, ast.Constant) or shuffle.value is not True or keyword(call, "batch_sampler"):
            continue
        if any(argument.arg is None for argument in call.keywords):
            continue
        if rule == "same-data" and keyword(call, "generator"):
            continue
        share = share_of(program, module, call.args[0] if call.args else keyword(call, "dataset"))
        if share != "own":
            certain = rule if share == "same" else "no-sampler"
            module.look.add(certain, call.lineno, *_with_sampler(module, call, shuffle))


def _same_stream(program: TrainingProgram, module: Module) -> None:
    """Report an IterableDataset without ranks and without random numbers: every rank reads the same samples."""
    for node in module.nodes:
        if not isinstance(node, ast.ClassDef) or not any(
            module.dotted(base).endswith("IterableDataset") and module.dotted(base).startswith("torch.")
            for base in node.bases
        ):
            continue
        words = module.words(node)
        seeded = [call for call in ast.walk(node) if isinstance(call, ast.Call)
                  and module.dotted(call.func).endswith("manual_seed")]  # fmt: skip
        if _RANKED.search(words) or (
            _RANDOM.search(words)
            and not (seeded and all(isinstance(argument, ast.Constant) for call in seeded for argument in call.args))
        ):
            continue
        constructions = program.callers.get(node.name, [])
        if constructions and not any(
            _RANKED.search(_deep_words(other, argument)) for other, call in constructions for argument in _given(call)
        ):
            module.look.add("same-stream", node.lineno, name=node.name)


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(argument.value for argument in call.keywords)]


def _with_sampler(module: Module, call: ast.Call, shuffle: ast.expr) -> tuple[Edit, ...]:
    """Return the lines that divide the data, if the data set has a name."""
    data = call.args[0] if call.args else keyword(call, "dataset")
    top = next((node for node in module.tree.body if isinstance(node, ast.ImportFrom) and node.lineno == node.end_lineno
                and (node.module or "").startswith("torch") and node.lineno < call.lineno), None)  # fmt: skip
    name = next((alias for alias, full in module.aliases.items() if full.endswith(".DistributedSampler")), "")
    if not isinstance(data, ast.Name) or (top is None and not name):
        return ()
    better = module.replaced(shuffle, f"{name or 'DistributedSampler'}({data.id})")
    if not better:
        return ()
    line, column = better[0].lines[0], shuffle.col_offset
    before = line.encode()[:column].decode()
    start = re.sub(r"shuffle(\s*=\s*)$", r"sampler\1", before)
    if start == before:
        return ()
    changed = Edit(shuffle.lineno, (start + line.encode()[column:].decode(),))
    if name or top is None:
        return (changed,)
    first = module.look.lines[top.lineno - 1]
    imported = "from torch.utils.data.distributed import DistributedSampler"
    return Edit(top.lineno, (first, imported)), changed


def _no_set_epoch(module: Module) -> None:
    samplers = [
        call for call, name in module.calls
        if name.rpartition(".")[2] == "DistributedSampler" and name.startswith("torch.") and _shuffles(call)
    ]  # fmt: skip
    loops = [
        node for node in module.nodes
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and "epoch" in node.target.id.lower()
        and isinstance(node.iter, ast.Call) and module.dotted(node.iter.func).endswith("range")
    ]  # fmt: skip
    if len(samplers) != 1 or not loops:
        return
    call, loop = samplers[0], loops[0]
    holder = module.parents.get(call)
    name = ""
    if isinstance(holder, ast.Assign) and len(holder.targets) == 1 and isinstance(holder.targets[0], ast.Name):
        name = holder.targets[0].id
    line = module.look.lines[loop.lineno - 1]
    same = module.function(call) is module.function(loop) and call.lineno < loop.lineno and line.rstrip().endswith(":")
    edits: tuple[Edit, ...] = ()
    assert isinstance(loop.target, ast.Name)
    if name and same and not any(module.tests(call)):
        blanks = " " * loop.body[0].col_offset
        edits = (Edit(loop.lineno, (line, f"{blanks}{name}.set_epoch({loop.target.id})")),)
    module.look.add("no-set-epoch", loop.lineno, *edits, sampler=name or "sampler", epoch=loop.target.id)


def _shuffles(call: ast.Call) -> bool:
    shuffle = keyword(call, "shuffle")
    return shuffle is None or (isinstance(shuffle, ast.Constant) and shuffle.value is True)


def _saves(program: TrainingProgram, module: Module) -> None:
    for call, name in module.calls:
        if name != "torch.save" or len(call.args) < 2:
            continue
        if _SPEAKS.search(_deep_words(module, call.args[1])) or not text_or_name(call.args[1]):
            continue
        if _on_one_rank(program, module, call, DEPTH):
            continue
        edits: tuple[Edit, ...] = ()
        statement = module.parents.get(call)
        dist = next((alias for alias, full in module.aliases.items() if full == "torch.distributed"), "")
        if isinstance(statement, ast.Expr) and statement.lineno == statement.end_lineno and dist:
            line = module.look.lines[statement.lineno - 1]
            blanks = line[: len(line) - len(line.lstrip())]
            if line.strip() == module.source(statement):
                edits = (
                    Edit(statement.lineno, (f"{blanks}if {dist}.get_rank() == 0:", f"{blanks}    {line.strip()}")),
                )
        module.look.add("save-on-every-rank", call.lineno, *edits)


def text_or_name(value: ast.expr) -> bool:
    """Return whether a file's name is simple enough to judge: the same text on every rank."""
    return not isinstance(value, ast.Call) or bool(value.args)


def _deep_words(module: Module, value: ast.expr) -> str:
    """Return the words of a value and of the values of its names."""
    words = [module.words(value)]
    for node in ast.walk(value):
        if isinstance(node, ast.Name):
            values = module.assigned(node.id)
            # a name from elsewhere may differ on each rank
            words += ["rank" if value is None and not _looped(module, node.id) else module.words(value) if value else ""
                      for value in values]  # fmt: skip
    return " ".join(words)


def _looped(module: Module, name: str) -> bool:
    return any(isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == name
               for node in module.nodes)  # fmt: skip


def _on_one_rank(program: TrainingProgram, module: Module, node: ast.AST, depth: int) -> bool:
    """Return whether possibly only one rank reaches a line; when unsure, True."""
    module.spend(1)
    if any(_unsure(module, test) for test in module.tests(node)):
        return True
    if any(RANK.search(module.words(wrapper)) for wrapper in module.wraps(node)):
        return True
    function = module.function(node)
    if function is None:
        return False
    if isinstance(function, ast.Lambda) or not depth or RANK.search(function.name.replace("main", "")):
        return True
    callers = program.callers.get(function.name, [])
    return not callers or any(_on_one_rank(program, other, call, depth - 1) for other, call in callers)


def _unsure(module: Module, test: ast.AST) -> bool:
    """Return whether a test may be true on one rank only."""
    if RANK.search(module.words(test)):
        return True
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    if not all(isinstance(part, ast.Compare) for part in parts):
        return True  # a Boolean variable: the ranks on which it is true are unknown
    if any(isinstance(part, ast.Compare) and _is_first(part) for part in parts):
        return True
    return any(
        RANK.search(module.words(value))
        for name in ast.walk(test) if isinstance(name, ast.Name)
        for value in module.assigned(name.id) if value is not None
    )  # fmt: skip


def _is_first(test: ast.Compare) -> bool:
    """Return whether a named value is compared with zero: `self.gpu == 0`, but not `step % 10 == 0`."""
    other = test.comparators[0]
    named = isinstance(test.left, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return named and isinstance(other, ast.Constant) and type(other.value) is int and other.value in (0, -1)


def check_machine(program: TrainingProgram, situation: TrainingSituation) -> None:
    """Report files and downloads that the cluster's nodes cannot reach."""
    for module in program.modules:
        if situation.visible:
            for node in module.nodes:
                text = text_value(node)
                if isinstance(node, ast.Constant) and text and situation.hides(text):
                    module.look.add("path-not-visible", node.lineno, path=text, cluster=situation.cluster,
                                    visible=", ".join(situation.visible))  # fmt: skip
        if situation.offline and not _OFFLINE.search(program.text):
            for call, name in module.calls:
                download = _download(program, call, name)
                if download:
                    module.look.add("download-in-job", call.lineno, what=download, cluster=situation.cluster)


def _download(program: TrainingProgram, call: ast.Call, name: str) -> str:
    download = keyword(call, "download")
    last = name.rpartition(".")[2]
    if (
        isinstance(download, ast.Constant)
        and download.value is True
        and name.startswith(("torchvision.", "torchaudio."))
    ):
        return f"{last}(download=True)"
    if name in ("urllib.request.urlretrieve", "wget.download"):
        return last
    first = text_value(call.args[0]) if call.args else None
    if first is None or not (name == "datasets.load_dataset" or last == "from_pretrained"):
        return ""
    if not _HUB.fullmatch(first) or first in _BUILDERS or (program.folder / first).exists():
        return ""
    return f'{last}("{first}")'
