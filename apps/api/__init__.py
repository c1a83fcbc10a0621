"""The REST API: a request becomes one call, and a refusal a problem document; domain rules are in the apps below."""
