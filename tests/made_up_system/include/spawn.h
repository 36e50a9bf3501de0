#error "Kestrel has no <spawn.h>"
