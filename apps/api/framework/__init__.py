"""What every resource of the REST API is built on: base views, row actions, bulk requests, versions."""
