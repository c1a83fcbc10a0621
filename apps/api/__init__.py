"""The REST surface: a request becomes one call, a refusal a problem document; it decides nothing."""
