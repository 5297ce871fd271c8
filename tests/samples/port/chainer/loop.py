"""A training loop of its own on GPU 0."""

import chainer
import chainer.functions as F
from chainer import Chain, cuda, iterators, optimizers, serializers
from chainer import links as L
from chainer.dataset import concat_examples
from chainer.datasets import get_mnist

gpu_id = 0
epochs = 10


class Net(Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.layer = L.Linear(784, 10)

    def forward(self, x):
        return self.layer(x)


def evaluate(model, test_iter):
    right = 0
    for batch in test_iter:
        images, labels = concat_examples(batch, gpu_id)
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            right += int((model(images).array.argmax(1) == labels).sum())
    test_iter.reset()
    return right


def main():
    train, test = get_mnist()
    total = len(train)
    train_iter = iterators.MultithreadIterator(train, 128)
    test_iter = iterators.SerialIterator(test, 128, repeat=False, shuffle=False)
    model = Net()
    cuda.get_device_from_id(gpu_id).use()
    model.to_gpu(gpu_id)
    optimizer = optimizers.SGD(lr=0.01).setup(model)
    while train_iter.epoch < epochs:
        images, labels = concat_examples(train_iter.next(), gpu_id)
        loss = F.softmax_cross_entropy(model(images), labels)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        if train_iter.is_new_epoch:
            right = evaluate(model, test_iter)
            print(train_iter.epoch, total, right)
    serializers.save_npz("net.npz", model)


main()
