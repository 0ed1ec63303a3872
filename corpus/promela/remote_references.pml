/* expect: holds
 */
/* Looking at another process's location and variables. */
byte turn;

active proctype A() { byte mine = 3; turn == 1; mine = 4; here: turn = 2; turn == 3 }
active proctype B() { turn = 1; (A[0]@here || turn == 2); assert(A[0]:mine == 4); turn == 2; turn = 3 }
