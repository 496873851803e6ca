"""moot: argue it before you build it."""

__version__ = "0.2.0"
