"""The only place that knows the vendor's SDK; importing its files costs more than a second, and none of them retries."""
