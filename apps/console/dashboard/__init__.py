"""Console: Home, navigation, search, reports, health and the list of pending work."""
