"""A package of the tests' own: the guest has nothing of it."""

from . import helpers

__all__ = ["helpers"]
