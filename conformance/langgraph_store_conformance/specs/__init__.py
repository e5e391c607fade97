"""The tests, a module for each part of the contract."""
