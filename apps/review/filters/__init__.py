"""Filters of the review inbox that people named and keep; not what the inbox can be narrowed to, nor what waits in it."""
