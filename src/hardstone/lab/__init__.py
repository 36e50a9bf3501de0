"""The virtual lab: kernels in virtual machines of this machine."""

GUEST_PREFIX = "hardstone-lab-"  # of the folder of a guest
