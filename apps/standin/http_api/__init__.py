"""The stand-in's HTTP: the Messages API, and controls, faults, delays and bill; it does not choose the words of a reply."""
