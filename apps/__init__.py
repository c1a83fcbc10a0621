"""Every package of the product, one floor per kind; not a place for code of its own."""
