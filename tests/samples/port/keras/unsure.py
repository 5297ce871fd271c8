import os

import keras
from keras.preprocessing.image import ImageDataGenerator

from own import Best, make_optimizer, options

os.environ["CUDA_VISIBLE_DEVICES"] = "0"
model = keras.models.load_model("start.h5")
model.compile(make_optimizer(), loss="mse")
pictures = ImageDataGenerator(rescale=1 / 255).flow_from_directory("pictures")
model.fit(pictures, epochs=3, steps_per_epoch=count(pictures), callbacks=[Best("best.h5")])
model.load_weights("best.h5")
model.fit(*options())
