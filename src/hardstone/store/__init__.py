"""Where runs are kept: immutable documents, written through a journal, with an index."""
