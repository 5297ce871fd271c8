"""Throughput and where the time goes, measured around a trainer that need not know of it."""

import functools

from chainer import training


class MeterSteps(training.Extension):
    """A trainer extension that tells the Meter of each step: samples of all processes, epoch, this rank's loss."""

    trigger = (1, "iteration")
    priority = training.PRIORITY_READER

    def __init__(self, meter, samples):
        self.meter, self.samples = meter, samples

    def __call__(self, trainer):
        loss = trainer.observation.get("main/loss")
        self.meter.step(
            samples=self.samples, step=trainer.updater.iteration, epoch=trainer.updater.epoch,
            loss=getattr(loss, "array", loss),
        )  # fmt: skip


def time_phases(meter, batches, updater, evaluator, comm):
    """Let the Meter know what time belongs to: waiting for data, computing, averaging gradients, a pause.

    What the trainer itself and its reports need is `other`. `comm` is None where gradients are averaged by another
    thread meanwhile (double buffering): what overlaps with computing costs nothing and is not measured.
    """
    updater.update = _within(meter, "compute", updater.update)
    batches.next = _seen(meter, _within(meter, "data", batches.next))
    evaluator.evaluate = _within(meter, "pause", evaluator.evaluate)
    if comm is not None and comm.size > 1:
        comm.multi_node_mean_grad = _within(meter, "communication", comm.multi_node_mean_grad)


def _within(meter, phase, function):
    @functools.wraps(function)
    def timed(*arguments, **named):
        with meter.phase(phase):
            return function(*arguments, **named)

    return timed


def _seen(meter, function):
    @functools.wraps(function)
    def seen():
        batch = function()
        meter.saw(batch)
        return batch

    return seen
