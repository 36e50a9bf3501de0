"""Tests of pages: a package, so that Chromium ends with the last of them."""
