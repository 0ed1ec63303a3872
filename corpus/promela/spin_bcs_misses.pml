/* expect: assertion
 * preemptions: 0
 */
/* An error without preemptions that a bounded search misses if it forgets who moved last. The state in which
 * both have announced themselves is reached by A (B first) and by B (A first); only B, going on from it
 * without a switch, leads to the error. Spin's -DBCS at -L0 does not find it. */
byte p, q, z;

active proctype A() { p = 1; q == 1; assert(z == 0) }
active proctype B() { q = 1; p == 1; z = 1 }
