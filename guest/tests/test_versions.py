"""The other tests run with every interpreter that is found; a supported version that is not is told of here."""

from __future__ import annotations

import unittest

from harness import versions
from keeper import skip


class Versions(unittest.TestCase):
    def test_every_supported_version_is_tried(self) -> None:
        for version in ("3.10", "3.11", "3.12", "3.13"):
            with self.subTest(version=version):
                if version not in versions().values():
                    skip("interpreters")
