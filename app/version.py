"""The version of this copy; setup.cfg reads it from here."""

VERSION = "0.1.0"
