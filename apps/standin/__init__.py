"""A server that speaks the Messages API and plays an honest support agent; it is rules over bytes, not a model."""
