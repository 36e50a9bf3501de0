"""Is a machine fit for real-time work? Rules over the facts that a probe reports; pure."""
