"""Filters that show values on console pages; they look nothing up."""
