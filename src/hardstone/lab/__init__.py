"""The virtual lab: kernels in virtual machines of this machine."""
