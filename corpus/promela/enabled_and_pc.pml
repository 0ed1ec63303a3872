/* expect: ltl
 */
/* enabled() and pc_value() in a never claim. */
byte x;
active proctype P() { x == 1; x = 2 }
active proctype Q() { x = 1; x == 2; x = 3 }
never { do :: enabled(0) && x == 1 && pc_value(1) > 0 -> break :: else od; do :: x == 3 -> break :: else od }
