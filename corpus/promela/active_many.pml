/* expect: assertion
 * preemptions: 0
 */
/* Four processes and one counter: the value 4 is reached only if all have come. */
byte n;

active [4] proctype P() { n++; assert(n < 4) }
