"""Personal data in a text, found without a model."""
