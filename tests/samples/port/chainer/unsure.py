import chainer
from chainer import training
from chainer.training import extensions

from own import Adversary, Sampling, gpu, load


def iterator(data):
    return chainer.iterators.MultiprocessIterator(load(data), 32)


def extend(trainer, model):
    trainer.extend(Sampling(model), trigger=(1, "epoch"))
    trainer.extend(lambda trainer: print(trainer.updater.iteration), trigger=(1, "epoch"))


model = Adversary()
model.to_gpu(gpu)
optimizer = chainer.optimizers.Adam().setup(model)
updater = training.updaters.ParallelUpdater(iterator("train"), optimizer, devices={"main": 0, "second": 1})
trainer = training.Trainer(updater, training.triggers.EarlyStoppingTrigger())
trainer.extend(extensions.snapshot(autoload=True))
extend(trainer, model)
trainer.run()
