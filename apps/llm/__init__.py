"""The model interface: requests, replies, errors, prices and usage; it holds no prompt and no tool."""
