"""Four clusters with Keras: arrays, a model from layers, `fit`."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
labels = np.arange(512) % 4
images = (np.random.randn(4, 8)[labels] * 3 + np.random.randn(512, 8)).astype("float32")
x_train, y_train, x_test, y_test = images[:384], labels[:384], images[384:], labels[384:]
model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(4)])
model.compile(
    optimizer="adam", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"]
)
model.summary()
history = model.fit(x_train, y_train, batch_size=16, epochs=16, verbose=2)
loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("steps", int(model.optimizer.iterations.numpy()))
print("accuracy", accuracy)
