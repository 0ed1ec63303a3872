/* expect: holds
 */
/* timeout beside else, in guards with other terms, and of two processes. */
byte x, y; chan c = [1] of { byte };
active proctype P() { byte n; do :: timeout && x < 2 -> x++ :: c?y -> n++ :: x == 2 -> break od; if :: y == 9 -> x = 9 :: else -> x = 5 fi }
active proctype Q() { if :: timeout -> c!1 :: x == 1 -> c!2 fi; atomic { timeout -> y = 3; y = 4 } }
