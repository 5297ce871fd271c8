"""The expert that looks at a failure: rules are data, this applies them."""
