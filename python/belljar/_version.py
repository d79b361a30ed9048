"""The version of package and binary, which are one."""

VERSION = "0.1.0"
