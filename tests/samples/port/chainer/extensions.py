"""Chainer 7, with chainer.get_device and an Evaluator of its own."""

import argparse

import chainer
from chainer import training
from chainer.iterators import SerialIterator
from chainer.training import extensions

from nets import Segmentation, dataset


class Masked(extensions.Evaluator):
    def evaluate(self):
        return super().evaluate()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", "-d", default="@cupy:0")
    args = parser.parse_args()
    device = chainer.get_device(args.device)
    device.use()
    model = Segmentation()
    model.to_device(device)
    optimizer = chainer.optimizers.Adam(1e-3)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-4))
    train, test = dataset("train"), dataset("test")
    updater = training.updaters.StandardUpdater(SerialIterator(train, 8), optimizer, device=device)
    stop = training.triggers.EarlyStoppingTrigger(monitor="validation/main/loss", max_trigger=(50, "epoch"))
    trainer = training.Trainer(updater, stop)
    trainer.extend(Masked(SerialIterator(test, 8, False, False), model, device=device))
    report = extensions.LogReport(trigger=(10, "iteration"))
    trainer.extend(report)
    trainer.extend(extensions.observe_lr())
    trainer.run()


if __name__ == "__main__":
    main()
