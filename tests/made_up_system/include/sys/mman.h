/* Without shm_open, shm_unlink. */
#ifndef KESTREL_SYS_MMAN_H
#define KESTREL_SYS_MMAN_H
#define shm_open kes_absent_shm_open
#define shm_unlink kes_absent_shm_unlink
#include_next <sys/mman.h>
#undef shm_open
#undef shm_unlink
#endif
