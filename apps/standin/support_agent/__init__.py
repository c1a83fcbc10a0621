"""The scripted support agent: rules over the prompt choose its reply."""
