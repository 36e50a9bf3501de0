"""Campaign: runs a plan on a target and stores what comes."""
