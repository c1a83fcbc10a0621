"""Console: Home, navigation, search, reports, health and what waits for a person."""
