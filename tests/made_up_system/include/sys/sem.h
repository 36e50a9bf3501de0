#error "Kestrel has no <sys/sem.h>"
