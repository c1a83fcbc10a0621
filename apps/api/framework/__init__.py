"""Base views, row actions, bulk requests and version checks that every REST resource builds on."""
