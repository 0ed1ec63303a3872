/* expect: invalid-end-state
 */
/* provided with a turn that changes within an atomic sequence and a rendezvous. */
byte turn, n; chan r = [0] of { byte };
active proctype P() provided (turn == 0) { byte t; n++; turn = 1; r?t; assert(t == 2) }
active proctype Q() provided (turn == 1) { n++; atomic { turn = 0; n++; turn = 1 }; if :: r!1 :: r!2 :: turn = 0 fi; turn = 0 }
active proctype R() { end: r!2; turn = 0 }
