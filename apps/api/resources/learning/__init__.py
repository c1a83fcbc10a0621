"""REST: extractions, reflections, lessons, examples, edit clusters, learning versions and contradictions."""
