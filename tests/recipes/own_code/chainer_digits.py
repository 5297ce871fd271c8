"""Digits with Chainer's trainer and extensions, as its MNIST example does; several processes through ChainerMN."""

import argparse

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
import numpy as np
from chainer import training
from chainer.training import extensions
from sklearn.datasets import load_digits


class MLP(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, 128)
            self.l2 = L.Linear(None, 10)

    def forward(self, x):
        return self.l2(F.relu(self.l1(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--epoch", "-e", type=int, default=4)
    parser.add_argument("--out", "-o", default="result")
    args = parser.parse_args()

    comm = chainermn.create_communicator("naive")
    np.random.seed(0)
    images, labels = load_digits(return_X_y=True)
    data = chainer.datasets.TupleDataset((images / 16).astype(np.float32), labels.astype(np.int32))
    train, test = chainer.datasets.split_dataset(data, 1500)
    train = chainermn.scatter_dataset(train if comm.rank == 0 else None, comm, shuffle=True)
    test = chainermn.scatter_dataset(test if comm.rank == 0 else None, comm)
    model = L.Classifier(MLP())
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.MomentumSGD(lr=args.lr), comm)
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(train, 16)
    test_iter = chainer.iterators.SerialIterator(test, 64, repeat=False, shuffle=False)
    updater = training.StandardUpdater(train_iter, optimizer)
    trainer = training.Trainer(updater, (args.epoch, "epoch"), out=args.out)
    trainer.extend(chainermn.create_multi_node_evaluator(extensions.Evaluator(test_iter, model), comm))
    if comm.rank == 0:
        trainer.extend(extensions.LogReport())
        trainer.extend(
            extensions.PrintReport(
                ["epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy",
                 "elapsed_time"]
            )
        )  # fmt: skip
        trainer.extend(extensions.ProgressBar(update_interval=10))
    trainer.run()


if __name__ == "__main__":
    main()
