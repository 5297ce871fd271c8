"""What a program wrote in its run's directory: found, recorded in `outputs.json`, listed and copied."""
