"""The stand-in's HTTP: the Messages API, controls, faults, delays and the bill; it does not choose replies."""
