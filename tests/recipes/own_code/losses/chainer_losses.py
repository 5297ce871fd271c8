"""Chainer's updater; prints each loss in all its bits."""

import chainer
import chainer.links as L
import numpy as np
from chainer import training

np.random.seed(1)
data = chainer.datasets.TupleDataset(
    np.random.rand(640, 8).astype(np.float32), np.random.randint(0, 4, 640).astype(np.int32)
)
model, optimizer = L.Classifier(L.Linear(8, 4)), chainer.optimizers.SGD(0.1)
optimizer.setup(model)
updater = training.StandardUpdater(chainer.iterators.SerialIterator(data, 16), optimizer)
while updater.epoch < 2:
    updater.update()
    print("loss", float(model.loss.array).hex())
