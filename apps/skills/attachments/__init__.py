"""Files attached to a skill: storage, review and download."""
