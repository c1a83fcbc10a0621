"""Other people's tools by the Model Context Protocol; the one package that knows its client, and not who may call what."""
