/* expect: assertion
 */
/* Appendix C of the paper, with five processes: every state is reached in many ways. */
#define N 5
int count;

active [N] proctype p() { count++; count-- }

never { do :: assert(count != N) od }
