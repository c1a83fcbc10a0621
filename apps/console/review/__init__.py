"""Console: the review inbox, the page of a proposal with its impact and provenance, bulk decisions and comments."""
