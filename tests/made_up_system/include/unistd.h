/* Without fork, vfork, execv, execve, execvp, setsid. */
#ifndef KESTREL_UNISTD_H
#define KESTREL_UNISTD_H
#define fork kes_absent_fork
#define vfork kes_absent_vfork
#define execv kes_absent_execv
#define execve kes_absent_execve
#define execvp kes_absent_execvp
#define setsid kes_absent_setsid
#include_next <unistd.h>
#undef fork
#undef vfork
#undef execv
#undef execve
#undef execvp
#undef setsid
#endif
