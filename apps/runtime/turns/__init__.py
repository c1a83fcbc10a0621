"""A turn from claim to completion."""
