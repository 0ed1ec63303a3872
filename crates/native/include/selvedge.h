/* What a C or C++ program can ask of Selvedge. `selvedge cc` and `selvedge c++` find this header and link what it
 * declares; outside of a check every choice is the first. */
#ifndef SELVEDGE_H
#define SELVEDGE_H

#ifdef __cplusplus
extern "C" {
#endif

/* A value from a range, both ends included: each is explored. */
int selvedge_choose(int from, int to);

/* The intrinsics of verification benchmarks. The values of __VERIFIER_nondet_* are 0, 1 and 2, or what
 * --nondet gives. The types are those that programs of the field declare them with, and no names of types are used
 * that a program may define otherwise. */
int __VERIFIER_nondet_int(void);
unsigned int __VERIFIER_nondet_uint(void);
unsigned int __VERIFIER_nondet_unsigned(void);
unsigned int __VERIFIER_nondet_unsigned_int(void);
long __VERIFIER_nondet_long(void);
unsigned long __VERIFIER_nondet_ulong(void);
long long __VERIFIER_nondet_longlong(void);
unsigned long long __VERIFIER_nondet_ulonglong(void);
short __VERIFIER_nondet_short(void);
unsigned short __VERIFIER_nondet_ushort(void);
char __VERIFIER_nondet_char(void);
unsigned char __VERIFIER_nondet_uchar(void);
unsigned char __VERIFIER_nondet_unsigned_char(void);
unsigned char __VERIFIER_nondet_u8(void);
unsigned short __VERIFIER_nondet_u16(void);
unsigned int __VERIFIER_nondet_u32(void);
float __VERIFIER_nondet_float(void);
double __VERIFIER_nondet_double(void);
void *__VERIFIER_nondet_pointer(void);
char *__VERIFIER_nondet_pchar(void);
__SIZE_TYPE__ __VERIFIER_nondet_size_t(void);
/* Each byte is the same value. */
void __VERIFIER_nondet_memory(void *memory, __SIZE_TYPE__ size);
/* As Linux has them. */
long long __VERIFIER_nondet_loff_t(void);
unsigned long __VERIFIER_nondet_sector_t(void);
#ifdef __SIZEOF_INT128__
__extension__ __int128 __VERIFIER_nondet_int128(void);
__extension__ unsigned __int128 __VERIFIER_nondet_uint128(void);
#endif
#ifdef __cplusplus
bool __VERIFIER_nondet_bool(void);
#else
_Bool __VERIFIER_nondet_bool(void);
#endif
void __VERIFIER_assume(int condition);
void __VERIFIER_assert(int condition);
void __VERIFIER_error(void) __attribute__((noreturn));
/* A program may define it otherwise, and such that it returns. */
void reach_error(void);
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);

#ifdef __cplusplus
}
#endif

#endif
