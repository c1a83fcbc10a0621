"""Restores a row, an agent or a tenant to an earlier state by ordinary acts that write new versions of the rows."""
