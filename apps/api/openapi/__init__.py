"""The OpenAPI document: schema generation, example bodies, and the page that displays it."""
