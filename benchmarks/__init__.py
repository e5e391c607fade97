"""Measurements; they take minutes and are no part of the tests."""
