#error "Kestrel has no <sys/timerfd.h>"
