/* expect: holds
 */
/* A handshake hands an atomic sequence over to the receiver. */
chan c = [0] of { byte }; byte x;

active proctype A() { atomic { x = 1; c!5; x = 2 } }
active proctype B() { byte v; atomic { c?v; assert(x == 1); x = v } }
active proctype C() { x != 0 -> x = x }
