"""Reports for people. Pure: a run document goes in, one HTML page comes out."""
