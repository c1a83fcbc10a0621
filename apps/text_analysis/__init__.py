"""Analysis of texts without rows or a model: personal data, similarity and contradictions."""
