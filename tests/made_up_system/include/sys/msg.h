#error "Kestrel has no <sys/msg.h>"
