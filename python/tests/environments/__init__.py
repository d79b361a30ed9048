"""Dependency environments, built from an index of our own that serves hostile packages."""
