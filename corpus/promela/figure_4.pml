/* expect: assertion
 */
/* Figure 4 of the paper: a local step chosen for reduction must not use up the free choice of a process. */
byte y;

active proctype T1() { byte x; x = 1; y = 1 }
active proctype T2() { y = 2; assert(y == 2) }
active proctype Check() { y == 1 -> assert(false) }
