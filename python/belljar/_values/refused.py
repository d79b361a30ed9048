"""The one error of this package's codec."""

from __future__ import annotations


class ValueRefused(TypeError):
    """A value that cannot cross between host and guest; the message has its path and what to do."""
