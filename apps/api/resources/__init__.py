"""The resources of the REST API, one folder for each feature of the product."""
