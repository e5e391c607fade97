"""The verbs of `Memory`, by what they are about."""
