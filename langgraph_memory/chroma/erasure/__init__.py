"""The bytes of erased users in a directory: overwritten, and searched for."""
