"""Made-up and damaged documents, streams, journals and files of other tools through the doors that
read them."""
