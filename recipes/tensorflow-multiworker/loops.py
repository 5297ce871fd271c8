"""The two ways to train: a loop of its own, and Keras's `fit` with callbacks where the loop has lines."""

import dataclasses
from collections.abc import Callable

import tensorflow as tf
from communication import averaged, loss_of
from hackathon_runtime import Meter
from keras_data import Digits

Place = tuple[int, int]
"""An epoch and a batch of it: the ones that come next."""


@dataclasses.dataclass
class Training:
    """What both loops need."""

    strategy: tf.distribute.Strategy
    data: Digits
    net: tf.keras.Model
    optimizer: tf.keras.optimizers.Optimizer
    epochs: int
    meter: Meter
    samples: int
    """Samples of a step, over all processes."""
    should_stop: Callable[[], bool]
    epoch_over: Callable[[int], None]

    def batches(self, first: Place) -> tf.distribute.DistributedDataset:
        """Return this process's batches from there on."""
        return self.strategy.distribute_datasets_from_function(lambda _: self.data.batches(*first))


def custom(training: Training, first: Place) -> Place:
    """Train, and return what comes next: (epochs, 0), or earlier when it was told to stop."""
    step, batches, meter = make_step(training), iter(training.batches(first)), training.meter
    first_epoch, first_batch = first
    for epoch in range(first_epoch, training.epochs):
        for batch in range(first_batch, training.data.steps):
            with meter.phase("data"):
                images, labels = next(batches)
            meter.saw(images, labels)
            with meter.phase("compute"):
                loss, waited = step(images, labels)
            if waited is not None:
                meter.move(float(waited), "compute", "communication")
            passed = epoch * training.data.steps + batch + 1  # steps of the whole training, also after a resumption
            meter.step(samples=training.samples, step=passed, epoch=epoch, loss=loss)
            if training.should_stop():
                return epoch, batch + 1
        first_batch = 0
        with meter.phase("pause"):
            training.epoch_over(epoch)
    with meter.phase("pause"):
        del step, batches  # taking the pipeline down is not training
    return training.epochs, 0


def make_step(training: Training) -> Callable[..., tuple[tf.Tensor, tf.Tensor | None]]:
    """Return a function that trains on a batch; it returns (this process's loss, seconds of waiting for the others).

    TensorFlow sends gradients while it computes further ones. The seconds are those in which this process has all its
    own gradients and still waits for the averaged ones; None on GPUs, where a time stamp does not wait for the device.
    """
    net, optimizer, clock = training.net, training.optimizer, not tf.config.list_physical_devices("GPU")

    def on_replica(images: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | None]:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, net(images, training=True))
        own = tape.gradient(loss, net.trainable_variables)
        gradients = averaged(own)
        waited = None
        if clock:
            with tf.control_dependencies(own):
                ready = tf.timestamp()
            with tf.control_dependencies([*own, *gradients]):
                waited = tf.timestamp() - ready
        pairs = zip(gradients, net.trainable_variables, strict=True)
        optimizer.apply_gradients(pairs, skip_gradients_aggregation=True)
        return loss, waited

    return tf.function(lambda images, labels: training.strategy.run(on_replica, (images, labels)))


class Watch(tf.keras.callbacks.Callback):
    """Measures the steps of `fit` and ends it when told to; reading its loss waits for each step."""

    def __init__(self, training: Training, first_batch: int) -> None:
        super().__init__()
        self._training, self._first_batch, self._phase = training, first_batch, training.meter.phase("compute")
        self._epoch, self.stopped = 0, None

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        self._phase.__enter__()

    def on_train_batch_end(self, batch, logs=None):
        self._phase.__exit__()
        training = self._training
        # steps of the whole training, also after a resumption
        passed = self._epoch * training.data.steps + self._first_batch + batch + 1
        training.meter.step(samples=training.samples, step=passed, epoch=self._epoch, loss=logs["loss"])
        if training.should_stop():
            self.stopped = self._epoch, self._first_batch + batch + 1
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        if self.stopped is None:
            with self._training.meter.phase("pause"):
                self._training.epoch_over(epoch)


def fit(training: Training, first: Place) -> Place:
    """Do the same by Keras's `fit`. Keras 3 cannot over several processes: this is Keras 2, the package tf-keras."""
    epoch, first_batch = first
    training.net.compile(optimizer=training.optimizer, loss=loss_of)
    while epoch < training.epochs:
        # the rest of an epoch that was cut is a `fit` of its own, for all epochs of one `fit` are equally long
        last = epoch + 1 if first_batch else training.epochs
        steps = training.data.steps - first_batch
        watch = Watch(training, first_batch)
        if steps:
            training.net.fit(
                training.batches((epoch, first_batch)), steps_per_epoch=steps, initial_epoch=epoch, epochs=last,
                callbacks=[watch], verbose=0,
            )  # fmt: skip
        if watch.stopped is not None:
            return watch.stopped
        epoch, first_batch = last, 0
    return training.epochs, 0
