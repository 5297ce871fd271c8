"""Keras with arrays; prints each loss in all its bits."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)
tf.config.experimental.enable_op_determinism()
inputs, labels = np.random.rand(640, 8).astype("float32"), np.random.randint(0, 4, 640)
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(4)])
model.compile(keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
losses = []
note = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: losses.append(float(logs["loss"]).hex()))
model.fit(
    inputs, labels, batch_size=16, epochs=2, verbose=0, callbacks=[note], validation_data=(inputs[:64], labels[:64])
)
print(*(f"loss {loss}" for loss in losses), sep="\n")
