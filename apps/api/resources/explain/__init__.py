"""REST: why a reply was given, and which sessions carried a row."""
