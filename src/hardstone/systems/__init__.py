"""What is compared and rated: runs under one condition and published systems; figures, stars."""
