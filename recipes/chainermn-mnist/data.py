"""The data: handwritten digits, and the iterators that make batches of them. **Put your own data here.**"""

import chainer
import numpy


def digits():
    """Return (train, test) of the 1797 digits that come with scikit-learn: 64 pixels from 0 to 1, and a label."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images, labels = (data.images.reshape(-1, 64) / 16).astype(numpy.float32), data.target.astype(numpy.int32)
    order = numpy.random.RandomState(0).permutation(len(labels))  # one split for all seeds
    test, train = order[:360], order[360:]
    return tuple(chainer.datasets.TupleDataset(images[part], labels[part]) for part in (train, test))


class OrderByEpoch:
    """The order of the samples in each epoch: a function of seed and epoch, so that a resumed run goes on the same way.

    It is the same on all ranks, for each has other samples; so one rank's snapshot is right for all.
    """

    def __init__(self, seed):
        self.seed, self.epoch = seed, 0

    def __call__(self, order, position):
        self.epoch += 1
        return numpy.random.RandomState([self.seed, self.epoch]).permutation(len(order))


def iterator(dataset, args, order):
    """Return the iterator over a rank's share: in this thread, or ahead of it in threads or processes.

    Where `data_share` is large, the GPU waits for the next batch: then workers pay. For data in memory they do not.
    """
    if args.iterator == "multithread":
        return chainer.iterators.MultithreadIterator(
            dataset, args.batch_size, n_threads=args.workers, order_sampler=order
        )
    if args.iterator == "multiprocess":
        return chainer.iterators.MultiprocessIterator(
            dataset, args.batch_size, n_processes=args.workers, order_sampler=order
        )
    return chainer.iterators.SerialIterator(dataset, args.batch_size, order_sampler=order)
