#error "Kestrel has no <sys/eventfd.h>"
