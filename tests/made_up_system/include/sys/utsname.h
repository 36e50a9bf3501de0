/* Kestrel names itself. */
#ifndef KESTREL_SYS_UTSNAME_H
#define KESTREL_SYS_UTSNAME_H
#define uname kes_uname
#include_next <sys/utsname.h>
#endif
