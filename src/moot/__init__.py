"""moot: argue it before you build it."""

__version__ = "0.1.0"
