"""Made-up and damaged documents, streams and journals through the doors that read them."""
