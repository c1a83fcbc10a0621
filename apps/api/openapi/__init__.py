"""The OpenAPI document: schema generation, examples of bodies, the page that shows it."""
