/* expect: holds
 */
/* A hidden variable is not part of the state. */
hidden byte scratch; byte x;

active proctype P() { do :: x < 2 -> scratch = x; x++ :: x == 2 -> x = 0 od }
