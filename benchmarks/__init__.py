"""Measurements that print a table and fail when a goal is missed; no part of the product."""
