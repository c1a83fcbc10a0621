"""The scripted support agent that answers customers by rules over the prompt; it is not a language model."""
