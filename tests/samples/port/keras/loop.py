"""A training loop of its own with a GradientTape."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
np.random.seed(1)
labels = np.arange(512) % 4
images = (np.random.randn(4, 8)[labels] * 3 + np.random.randn(512, 8)).astype("float32")
data = tf.data.Dataset.from_tensor_slices((images[:384], labels[:384])).shuffle(384).batch(16)
model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(4)])
optimizer = tf.keras.optimizers.SGD(0.1)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for epoch in range(6):
    for x, y in data:
        loss = step(x, y)
    print("epoch", epoch, float(loss))
right = float(tf.reduce_mean(tf.cast(tf.argmax(model(images[384:]), 1) == labels[384:], tf.float32)))
print("steps", int(optimizer.iterations))
print("accuracy", right)
model.save_weights("model.weights.h5")
