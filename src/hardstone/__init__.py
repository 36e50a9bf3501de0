"""hardstone measures how real-time an operating system is."""

__version__ = "0.1.0"
