#error "Kestrel has no <sys/shm.h>"
