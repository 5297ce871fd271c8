"""Four clusters with Chainer's trainer, on a GPU if there is one."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first, self.last = L.Linear(8, 32), L.Linear(32, 4)

    def forward(self, x):
        return self.last(F.relu(self.first(x)))


np.random.seed(1)
labels = np.arange(512, dtype=np.int32) % 4
images = (np.random.randn(4, 8)[labels] * 3 + np.random.randn(512, 8)).astype(np.float32)
data = chainer.datasets.TupleDataset(images, labels)
train, test = chainer.datasets.split_dataset(data, 384)
model = L.Classifier(Net())
if chainer.backends.cuda.available:
    model.to_gpu()
optimizer = chainer.optimizers.MomentumSGD(lr=0.05)
optimizer.setup(model)
train_iter = chainer.iterators.SerialIterator(train, 16)
test_iter = chainer.iterators.SerialIterator(test, 64, repeat=False, shuffle=False)
updater = training.StandardUpdater(train_iter, optimizer)
trainer = training.Trainer(updater, (4, "epoch"), out="result")
trainer.extend(extensions.Evaluator(test_iter, model))
trainer.extend(extensions.LogReport())
trainer.extend(extensions.PrintReport(["epoch", "main/loss", "validation/main/accuracy"]))
trainer.run()
print("steps", updater.iteration)
print("accuracy", float(trainer.observation["validation/main/accuracy"]))
chainer.serializers.save_npz("model.npz", model)
