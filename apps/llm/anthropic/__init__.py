"""The adapter for the Anthropic SDK and its only importer, since the import takes over a second; it never retries."""
