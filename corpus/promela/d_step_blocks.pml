/* expect: crash
 */
/* A statement within a d_step that cannot go on is an error. */
byte x;
active proctype P() { d_step { x = 1; x == 2; x = 3 } }
active proctype Q() { x = 1 }
