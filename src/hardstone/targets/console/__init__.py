"""Systems that have a console and nothing else: a serial port, a pty, TCP, a place of labgrid."""
