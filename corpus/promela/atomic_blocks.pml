/* expect: holds
 */
/* An atomic sequence that blocks loses its atomicity there. */
byte x; bool go;

active proctype A() { atomic { x = 1; go -> assert(x == 2); x = 3 } }
active proctype B() { atomic { x == 1 -> x = 2; go = true } }
