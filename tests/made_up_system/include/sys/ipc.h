#error "Kestrel has no <sys/ipc.h>"
