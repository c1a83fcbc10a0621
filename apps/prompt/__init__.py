"""Prompt rendering: plain values in, text out, without a database, a clock or settings."""
