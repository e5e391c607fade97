"""A directory that is only read, beside the process that writes it."""
