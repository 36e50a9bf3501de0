/* Without pselect. */
#ifndef KESTREL_SYS_SELECT_H
#define KESTREL_SYS_SELECT_H
#define pselect kes_absent_pselect
#include_next <sys/select.h>
#undef pselect
#endif
