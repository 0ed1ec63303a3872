/* expect: holds
 */
/* The escape goes first, at every statement. */
bool stop; byte x;

active proctype A() { do :: x < 3 -> { x++; x++ } unless { stop -> x = 10 } :: else -> break od; assert(x >= 3) }
active proctype B() { stop = true }
