"""The data: each process gets its share from a DistributedSampler, in another order in each epoch."""

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions, Scope
from hackathon.programs.port.loops import BatchLoop, batch_loops, epoch_place, is_loader, iterated
from hackathon.programs.port.names import argument, dotted, method, pure, with_argument
from hackathon.programs.port.torch_setup import AddedNames
from hackathon.text.messages import Message


class TrainingData:
    """The DataLoaders of a training."""

    def __init__(self, edits: Edits, functions: Functions, words: AddedNames) -> None:
        self.edits = edits
        self.functions = functions
        self.program = functions.program
        self.words = words
        self.loops = batch_loops(self.program, functions)
        self.sampled: set[cst.Call] = set()
        """The DataLoaders that got a sampler."""

    def share(self) -> None:
        """Give each DataLoader of a training a sampler, and set the sampler's epoch."""
        if not self.loops:
            self.edits.ask(
                self.functions.backwards[0],
                Message(
                    "port.ask_no_loader",
                    "no loop over a DataLoader was found: how does each process get its own share of the data?",
                ),
            )
        for source in dict.fromkeys(source for loop in self.loops for source in loop.sources):
            self._sample(source)
        for loop in self.loops:
            if not loop.sources:
                self.edits.ask(
                    loop.loop,
                    self._question(loop),
                    data=self.program.text(loop.loader),
                )
            elif set(loop.sources) <= self.sampled:
                self._epochs(loop)
            if len(loop.sources) > 1 and self._sometimes(loop):
                self.edits.ask(
                    loop.loop,
                    Message(
                        "port.ask_share",
                        "this loop now sees the share of one process: should its result be reduced over the processes?",
                    ),
                )

    def _question(self, loop: BatchLoop) -> str:
        called = {(dotted(call.func) or "").rpartition(".")[2] for call in self.program.find(loop.loader, cst.Call)}
        if called & {"range", "count", "trange", "arange"}:
            return Message(
                "port.ask_steps",
                "this loop counts, {data}, and reads no DataLoader: what does each process train on? With the same "
                "data and the same seed, all processes do the same work.",
            )
        return Message(
            "port.ask_data",
            "how does each process get its own share of {data}? It is not a DataLoader that hackathon port knows.",
        )

    def _sometimes(self, loop: BatchLoop) -> bool:
        """Return whether a loop may run without a training step, because the same lines train and evaluate."""
        inside = set(self.program.walk(loop.loop.body))
        return any(
            isinstance(outer, cst.If) and outer in inside
            for step in self.functions.reaches(loop.loop.body)
            for outer in self.program.above(step)
        )

    def _sample(self, call: cst.Call) -> None:
        edits, program, words = self.edits, self.program, self.words
        data, shuffle = argument(call, "dataset", 0), argument(call, "shuffle", 2)
        keys = self._starred(call)
        if data is None or keys is None or keys & {"sampler", "batch_sampler", "dataset"}:
            edits.ask(
                call,
                Message(
                    "port.ask_loader",
                    "the arguments of this DataLoader are not sure: give it sampler=DistributedSampler(…) and no "
                    "shuffle?",
                ),
            )
            return
        if argument(call, "sampler", 3) is not None or argument(call, "batch_sampler", 4) is not None:
            edits.ask(
                call,
                Message(
                    "port.ask_sampler",
                    "this DataLoader has a sampler of its own: how does it divide the data among the processes?",
                ),
            )
            return
        if self._iterable(data.value, call):
            edits.ask(
                call,
                Message(
                    "port.ask_iterable",
                    "an IterableDataset has no sampler: which samples does each rank (and each worker) yield? Now "
                    "every process sees all of them.",
                ),
            )
            return
        if shuffle is not None and (not pure(program, shuffle.value)):
            edits.ask(
                call,
                Message(
                    "port.ask_loader",
                    "the arguments of this DataLoader are not sure: give it sampler=DistributedSampler(…) and no "
                    "shuffle?",
                ),
            )
            return
        name = dotted(data.value)
        if name is None:
            name = self._named(call, data)
            if name is None:
                edits.ask(
                    call,
                    Message(
                        "port.ask_loader",
                        "the arguments of this DataLoader are not sure: give it sampler=DistributedSampler(…) and "
                        "no shuffle?",
                    ),
                )
                return
        if "shuffle" in keys:
            self._mixed_by(call, name)
            return
        mixed = program.text(shuffle.value) if shuffle is not None else "False"
        mixed = f"({mixed})" if " " in mixed else mixed
        arguments = f"{name}" if mixed == "True" else f"{name}, shuffle={mixed}"
        sampler = f"{words.sampler}({arguments}) if {words.world} > 1 else None"
        if mixed == "True":
            edits.swap(shuffle.value, f"{words.world} == 1")  # type: ignore[union-attr]
        elif mixed != "False":
            edits.swap(shuffle.value, f"{mixed} and {words.world} == 1")  # type: ignore[union-attr]
        pattern = edits.expression(f"f(sampler={sampler})")
        assert isinstance(pattern, cst.Call)
        extra = pattern.args[0]

        def change(updated: cst.CSTNode) -> cst.CSTNode:
            assert isinstance(updated, cst.Call)
            return updated.with_changes(args=with_argument(list(updated.args), extra))

        edits.replaced[call] = change
        edits.done(
            call, Message("port.do_sampler", "each process gets its share of {data}"), f"sampler={sampler}", data=name
        )
        self.sampled.add(call)

    def _mixed_by(self, call: cst.Call, data: str) -> None:
        """Put the sampler into the options of `**options`, which contain whether to shuffle the data."""
        starred = next(arg for arg in call.args if arg.star == "**")
        words, options = self.words, self.program.text(starred.value)
        sampler = f'{words.sampler}({data}, shuffle={options}.get("shuffle", False))'
        more = f'{{**{options}, "shuffle": False, "sampler": {sampler}}}'
        self.edits.swap(starred.value, f"({options} if {words.world} == 1 else {more})")
        self.edits.done(call, Message("port.do_sampler", "each process gets its share of {data}"), more, data=data)
        self.sampled.add(call)

    def _starred(self, call: cst.Call) -> set[str] | None:
        """Return the keys of `**options`, None unless all are known."""
        known_keys: set[str] = set()
        stars = [arg for arg in call.args if arg.star]
        for star in stars:
            name = dotted(star.value)
            keys = self._keys(name, call) if star.star == "**" and name is not None else None
            if keys is None or ("shuffle" in keys and len(stars) > 1):
                return None
            known_keys |= keys
        return known_keys

    def _keys(self, name: str, call: cst.Call) -> set[str] | None:
        """Return the keys of a dictionary that is written in this program, None unless all are known."""
        scope = self.functions.scope(call)
        keys: set[str] = set()
        values = [value for value, _ in self.functions.origins(cst.Name(name), scope)] if "." not in name else []
        for update in self.functions.calls:
            if (
                method(update) == "update"
                and isinstance(update.func, cst.Attribute)
                and dotted(update.func.value) == name
            ):
                origins = [value for arg in update.args for value, _ in self.functions.origins(arg.value, scope)]
                values += origins or [update]
        for value in values:
            if isinstance(value, cst.Call) and dotted(value.func) == "dict" and all(arg.keyword for arg in value.args):
                keys |= {arg.keyword.value for arg in value.args if arg.keyword is not None}
                continue
            for element in value.elements if isinstance(value, cst.Dict) else (None,):
                key = element.key if isinstance(element, cst.DictElement) else None
                if not isinstance(key, cst.SimpleString):
                    return None
                keys.add(key.value.strip("'\""))
        for item in self.program.everywhere(cst.Subscript):
            if dotted(item.value) == name and isinstance(self.program.parents.get(item), cst.AssignTarget):
                keys.add(self.program.text(item.slice[0]).strip("'\""))
        return keys if values else None

    def _iterable(self, data: cst.BaseExpression, call: cst.Call) -> bool:
        """Return whether a data set is or may be iterable only: by its class, or without a length."""
        for value, _ in self.functions.origins(data, self.functions.scope(call)):
            if isinstance(value, cst.Call):
                if self.functions.imports.full(value.func).startswith("torchtext.datasets."):
                    return True
                short = (dotted(value.func) or "").rpartition(".")[2]
                owner = self.functions.classes.get(short)
                bases = [dotted(base.value) or "" for base in owner.bases] if owner is not None else [short]
                if any("Iterable" in base or "WebDataset" in base or "DataPipe" in base for base in bases):
                    return True
        return False

    def _named(self, call: cst.Call, data: cst.Arg) -> str | None:
        """Assign a data set created inside the call to a name before the statement; None if that is not safe."""
        statement = self.program.parents.get(self.program.parents.get(call, call))
        assigns = isinstance(self.program.parents.get(call), cst.Assign)
        if not assigns or not isinstance(statement, cst.SimpleStatementLine):
            return None
        if data is not call.args[0] or len(statement.body) != 1:
            return None
        name = "train_data"
        while name in self.program.identifiers:
            name += "_"
        self.program.identifiers.add(name)
        self.edits.put_before(call, f"{name} = {self.program.text(data.value)}\n")
        self.edits.lifted.add(self.program.statement(call))
        self.edits.swap(data.value, name)
        return name

    def _epochs(self, loop: BatchLoop) -> None:
        if dotted(loop.loader) is None:
            self.edits.ask(
                loop.loop,
                Message(
                    "port.ask_epoch",
                    "where does an epoch begin? There the DataLoader's sampler.set_epoch(epoch) belongs.",
                ),
            )
            return
        for epoch in dict.fromkeys(epoch_place(self.functions, loop)):
            if epoch.kind == "once":
                continue
            if epoch.kind == "while" or not epoch.loader:
                self.edits.ask(
                    epoch.statement or loop.loop,
                    Message(
                        "port.ask_epoch",
                        "where does an epoch begin? There the DataLoader's sampler.set_epoch(epoch) belongs.",
                    ),
                )
                continue
            assert epoch.statement is not None
            text = f"if {self.words.world} > 1:\n    {epoch.loader}.sampler.set_epoch({epoch.epoch})\n"
            self.edits.put_before(epoch.statement, text)
            self.edits.done(
                epoch.statement,
                Message("port.do_epoch", "the sampler of {loader} learns the epoch: another order each time"),
                text,
                loader=epoch.loader,
            )

    def lengths(self, unchanged: set[cst.Call]) -> None:
        """Divide by this process's samples: `len(loader.sampler)`, which is all of them for one process.

        `unchanged`: calls of `len` that must count all samples.
        """
        for loop in self.loops:
            self._lengths(loop, unchanged)

    def _lengths(self, loop: BatchLoop, unchanged: set[cst.Call]) -> None:
        if not loop.sources or not set(loop.sources) <= self.sampled:
            return
        name = dotted(loop.loader)
        datasets = {
            dotted(dataset.value) for call in loop.sources if (dataset := argument(call, "dataset", 0)) is not None
        }
        around: cst.CSTNode = loop.scope or self.program.module
        for call in self.program.find(around, cst.Call):
            if dotted(call.func) != "len" or len(call.args) != 1 or self.functions.scope(call) is not loop.scope:
                continue
            measured = dotted(call.args[0].value)
            if measured is not None and name is not None and measured == f"{name}.dataset":
                self.edits.swap(call.args[0].value, f"{name}.sampler")
                self.edits.done(
                    call,
                    Message("port.do_length", "{old} → the samples of this process"),
                    f"len({name}.sampler)",
                    old=f"len({measured})",
                )
            elif measured in datasets and measured is not None and self._divides(call) and call not in unchanged:
                self.edits.ask(
                    call,
                    Message(
                        "port.ask_length",
                        "{data} are the samples of all processes: is len({loader}.sampler), those of this one, meant?",
                    ),
                    data=measured,
                    loader=name or "?",
                )

    def counts_all(self, value: cst.BaseExpression, scope: Scope) -> bool:
        """Return whether a value is the number of all samples of divided data: `len` of the data set."""
        datasets = {dotted(data.value) for call in self.sampled if (data := argument(call, "dataset", 0)) is not None}
        return any(
            isinstance(origin, cst.Call)
            and dotted(origin.func) == "len"
            and len(origin.args) == 1
            and (dotted(origin.args[0].value) in datasets or (dotted(origin.args[0].value) or "").endswith(".dataset"))
            for origin, _ in self.functions.origins(value, scope)
        )

    def _divides(self, call: cst.Call) -> bool:
        parent = self.program.parents.get(call)
        return isinstance(parent, cst.BinaryOperation) and isinstance(parent.operator, cst.Divide | cst.FloorDivide)

    def others(self) -> None:
        """Add remarks on the other DataLoaders: every process sees all of their data."""
        mine = {source for loop in self.loops for source in loop.sources}
        remaining = [call for call in self.functions.calls if is_loader(self.functions, call) and call not in mine]
        runs = None
        for loop in self.program.everywhere(cst.For):
            if self.functions.reaches(loop.body):
                continue
            origins = {value for value, _ in self.functions.origins(iterated(loop), self.functions.scope(loop))}
            if origins & self.sampled:
                self.edits.ask(
                    loop,
                    Message(
                        "port.ask_share",
                        "this loop now sees the share of one process: should its result be reduced over the processes?",
                    ),
                )
            elif origins & set(remaining):
                runs = runs or loop
        if runs is not None:
            self.edits.note(
                runs,
                Message(
                    "port.note_evaluation",
                    "Every process evaluates all of these data: the result is right, but not faster.",
                ),
            )
        for call in self.functions.calls:
            if method(call) is None and dotted(call.func) in ("iter", "cycle") and call.args:
                sources = self.functions.origins(call.args[0].value, self.functions.scope(call))
                outer = self.program.parents.get(self.program.parents.get(call, call))
                if isinstance(outer, cst.Call) and dotted(outer.func) == "next":
                    continue  # a look at one batch
                if any(value in self.sampled for value, _ in sources):
                    self.edits.ask(
                        call,
                        Message(
                            "port.ask_endless",
                            "a DataLoader without a loop over epochs: when does its sampler get set_epoch()?",
                        ),
                    )
