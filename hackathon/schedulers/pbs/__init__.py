"""PBS Professional and OpenPBS."""
