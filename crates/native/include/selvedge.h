/* What a C or C++ program can ask of Selvedge. `selvedge cc` and `selvedge c++` find this header and link what it
 * declares; outside of a check every choice is the first. */
#ifndef SELVEDGE_H
#define SELVEDGE_H

#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif

/* A value from a range, both ends included: each is explored. */
int selvedge_choose(int from, int to);

/* The intrinsics of verification benchmarks. The values of __VERIFIER_nondet_* are 0, 1 and 2, or what
 * --nondet gives. */
int __VERIFIER_nondet_int(void);
unsigned int __VERIFIER_nondet_uint(void);
unsigned int __VERIFIER_nondet_unsigned(void);
long __VERIFIER_nondet_long(void);
unsigned long __VERIFIER_nondet_ulong(void);
long long __VERIFIER_nondet_longlong(void);
short __VERIFIER_nondet_short(void);
unsigned short __VERIFIER_nondet_ushort(void);
signed char __VERIFIER_nondet_char(void);
unsigned char __VERIFIER_nondet_uchar(void);
bool __VERIFIER_nondet_bool(void);
void __VERIFIER_assume(int condition);
void __VERIFIER_assert(int condition);
void __VERIFIER_error(void) __attribute__((noreturn));
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);

#ifdef __cplusplus
}
#endif

#endif
