#error "Kestrel has no <aio.h>"
