/* expect: ltl
 */
/* A never claim that comes to its end: x became 2. */
byte x;

active [2] proctype P() { x++ }

never { do :: x == 2 -> break :: else od }
