"""Console: the review inbox, the page of a proposal, its impact and provenance, bulk decisions and comments."""
