"""Rendering of the prompt sections, byte for byte."""
