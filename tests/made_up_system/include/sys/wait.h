#error "Kestrel has no <sys/wait.h>"
