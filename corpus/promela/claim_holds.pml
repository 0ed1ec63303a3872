/* expect: holds
 */
/* A never claim that never comes to its end. */
byte x;

active [2] proctype P() { x++ }

never { do :: x == 3 -> break :: else od }
