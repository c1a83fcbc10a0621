"""Reading text by its structure: Markdown, HTML, invisible characters."""
