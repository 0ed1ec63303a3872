/* expect: assertion
 */
/* An error without preemptions that a bounded search misses if it forgets who moved last: the state after
 * the handover is reached by both processes alike. */
byte x, y;

active proctype A() { x = 1; y == 1; assert(x != 2) }
active proctype B() { if :: x == 1 -> y = 1 :: x = 1; y = 1 fi; x = 2 }
