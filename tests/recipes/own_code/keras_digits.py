"""Digits with Keras: several workers through MultiWorkerMirroredStrategy, the progress bar as it comes."""

import argparse
import json
import os
import time

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
import tensorflow as tf
from sklearn.datasets import load_digits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--verbose", default="auto")
    args = parser.parse_args()

    workers, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    if workers > 1:
        port = int(os.environ["MASTER_PORT"])
        addresses = [f"{os.environ['MASTER_ADDR']}:{port + each}" for each in range(workers)]
        task = {"type": "worker", "index": rank}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": addresses}, "task": task})
    strategy = tf.distribute.MultiWorkerMirroredStrategy() if workers > 1 else tf.distribute.get_strategy()
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype("float32")
    train = tf.data.Dataset.from_tensor_slices((images[:1500], labels[:1500]))
    test = tf.data.Dataset.from_tensor_slices((images[1500:], labels[1500:])).batch(64)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    train = train.shuffle(1500, seed=1).batch(16 * workers, drop_remainder=True).with_options(options)
    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(128, activation="relu", input_shape=(64,)), tf.keras.layers.Dense(10)]
        )
        model.compile(
            optimizer=tf.keras.optimizers.Adam(args.lr),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
    verbose = args.verbose if args.verbose == "auto" else int(args.verbose)
    steps, lasting = [], []
    clock = tf.keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: steps.clear(),
        on_train_batch_end=lambda batch, logs: steps.append(time.time()),
        on_epoch_end=lambda epoch, logs: lasting.append((steps[-1] - steps[0]) / (len(steps) - 1)),
    )
    begin = time.time()
    model.fit(train, epochs=args.epochs, validation_data=test.with_options(options), verbose=verbose, callbacks=[clock])
    print(f"Training took {time.time() - begin:.1f} s, its steps", *(f"{1000 * each:.3f}" for each in lasting), "ms")


if __name__ == "__main__":
    main()
