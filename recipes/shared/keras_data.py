"""The data: handwritten digits to learn from; put your own data here."""

import numpy
import tensorflow as tf
from sklearn.datasets import load_digits


class Digits:
    """The 1797 handwritten digits that come with scikit-learn (8 × 8 pixels, 10 classes): 1437 to train, 360 to test.

    Every epoch is shuffled anew, the same way on all ranks, and each rank takes its share.
    """

    def __init__(self, batch_size: int, seed: int, rank: int, world_size: int) -> None:
        digits = load_digits()
        images = (digits.images[..., None] / 16).astype("float32")
        labels = digits.target.astype("int64")
        order = numpy.random.default_rng(0).permutation(len(labels))  # one split for all seeds
        test, train = order[:360], order[360:]
        self.test = images[test[rank::world_size]], labels[test[rank::world_size]]
        self.test_size = len(test)
        self._images, self._labels = images[train], labels[train]
        self._batch_size, self._seed, self._rank, self._world_size = batch_size, seed, rank, world_size
        self.steps = len(train) // world_size // batch_size
        if self.steps == 0:
            raise SystemExit(
                f"a process has {len(train) // world_size} digits, fewer than one batch of {batch_size}: "
                "take a smaller --batch-size or fewer processes"
            )

    def batches(self, first_epoch: int = 0, first_batch: int = 0) -> tf.data.Dataset:
        """Return this rank's batches from there on, without end.

        Data that end make TensorFlow's workers ask each other before every step whether all of them have a batch left.
        """

        def of_epoch(epoch: tf.Tensor) -> tf.data.Dataset:
            order = tf.random.experimental.stateless_shuffle(tf.range(len(self._labels)), [self._seed, epoch])
            mine = tf.gather(order, tf.range(self._rank, len(self._labels), self._world_size))
            batches = tf.reshape(mine[: self.steps * self._batch_size], (self.steps, self._batch_size))
            return tf.data.Dataset.from_tensor_slices(batches)

        def of_digits(indices: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return tf.gather(self._images, indices), tf.gather(self._labels, indices)

        endless = tf.data.Dataset.range(first_epoch, tf.int64.max).flat_map(of_epoch).skip(first_batch).map(of_digits)
        return endless.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)).prefetch(2)
