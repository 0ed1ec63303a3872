/* expect: assertion
 * rows: 8960 25599 48128 68415 81056 86559 88208 88533 88571 88573
 */
/* Appendix C of the paper as it stands: 88,573 states. */
#define N 10
int count;

active [N] proctype p() { count++; count-- }

never { do :: assert(count != N) od }
