"""Starts and stops the processes Preceptor needs on one machine; it is not part of the product and knows no Django."""
