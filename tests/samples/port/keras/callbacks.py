"""With callbacks, options and a data set."""

import argparse

from tensorflow import keras
from tensorflow.keras.callbacks import EarlyStopping, ModelCheckpoint, ReduceLROnPlateau
import tensorflow as tf


class Times(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print("epoch", epoch, logs["loss"])


def build(rate):
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10)])
    optimizer = keras.optimizers.SGD(learning_rate=rate, momentum=0.9)
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=optimizer,
        metrics=["accuracy"],
    )
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--board", action="store_true")
    args = parser.parse_args()
    (x_train, y_train), (x_test, y_test) = keras.datasets.mnist.load_data()
    train = tf.data.Dataset.from_tensor_slices((x_train, y_train))
    train = train.shuffle(10000).batch(args.batch_size).prefetch(2)
    test = tf.data.Dataset.from_tensor_slices((x_test, y_test)).batch(256)
    model = build(args.lr)
    callbacks = [
        ModelCheckpoint("best.h5", save_best_only=True),
        EarlyStopping(patience=3),
        ReduceLROnPlateau(),
        Times(),
    ]
    if args.board:
        callbacks.append(keras.callbacks.TensorBoard("logs"))
    model.fit(train, epochs=10, validation_data=test, callbacks=callbacks)
    print("test", model.evaluate(test))
    model.save("model.h5")


if __name__ == "__main__":
    main()
