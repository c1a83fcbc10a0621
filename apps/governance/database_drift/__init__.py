"""Compares row security, triggers and rights in the database with those that this release declares."""
