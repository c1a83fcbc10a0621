"""Accounts: people, their passwords, second factors and sessions."""
