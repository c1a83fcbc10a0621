"""Parsers for the structure of text: Markdown, HTML and invisible characters."""
