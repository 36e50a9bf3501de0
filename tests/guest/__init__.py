"""Tests in guests: a package, so that its guests end with the last of them."""
