"""KRN-P-PRE: blocking of the CPU by operations of the kernel."""
