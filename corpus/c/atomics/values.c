// A value of each type that verification benchmarks have, declared as they do.
// expect: assertion preemptions=0 says=reach_error
#include <assert.h>
#include <stddef.h>

extern void reach_error(void);
extern _Bool __VERIFIER_nondet_bool(void);
extern char __VERIFIER_nondet_char(void);
extern unsigned char __VERIFIER_nondet_uchar(void), __VERIFIER_nondet_unsigned_char(void), __VERIFIER_nondet_u8(void);
extern short __VERIFIER_nondet_short(void);
extern unsigned short __VERIFIER_nondet_ushort(void), __VERIFIER_nondet_u16(void);
extern unsigned int __VERIFIER_nondet_uint(void), __VERIFIER_nondet_unsigned(void), __VERIFIER_nondet_unsigned_int(void);
extern unsigned int __VERIFIER_nondet_u32(void);
extern long __VERIFIER_nondet_long(void);
extern unsigned long __VERIFIER_nondet_ulong(void), __VERIFIER_nondet_sector_t(void);
extern size_t __VERIFIER_nondet_size_t(void);
extern long long __VERIFIER_nondet_longlong(void), __VERIFIER_nondet_loff_t(void);
extern unsigned long long __VERIFIER_nondet_ulonglong(void);
extern __int128 __VERIFIER_nondet_int128(void);
extern unsigned __int128 __VERIFIER_nondet_uint128(void);
extern float __VERIFIER_nondet_float(void);
extern double __VERIFIER_nondet_double(void);
extern void *__VERIFIER_nondet_pointer(void);
extern char *__VERIFIER_nondet_pchar(void);

int main(void) {
    assert(!__VERIFIER_nondet_pointer() && !__VERIFIER_nondet_pchar());
    // Of some, the value that is tried first will do.
    if (__VERIFIER_nondet_bool() || __VERIFIER_nondet_char() || __VERIFIER_nondet_uchar() || __VERIFIER_nondet_unsigned_char()
        || __VERIFIER_nondet_u8() || __VERIFIER_nondet_short() || __VERIFIER_nondet_ushort() || __VERIFIER_nondet_u16()
        || __VERIFIER_nondet_uint() || __VERIFIER_nondet_unsigned() || __VERIFIER_nondet_unsigned_int() || __VERIFIER_nondet_u32()
        || __VERIFIER_nondet_long() || __VERIFIER_nondet_ulong() || __VERIFIER_nondet_sector_t() || __VERIFIER_nondet_size_t()
        || __VERIFIER_nondet_longlong() || __VERIFIER_nondet_loff_t() || __VERIFIER_nondet_ulonglong())
        return 0;
    if (__VERIFIER_nondet_int128() == 2 && __VERIFIER_nondet_uint128() == 1 && __VERIFIER_nondet_float() == 1.0f
        && __VERIFIER_nondet_double() == 2.0)
        reach_error();
    return 0;
}
