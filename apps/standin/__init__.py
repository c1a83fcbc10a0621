"""The stand-in model: a server with the Messages API that plays a support agent by rules; it is not a language model."""
