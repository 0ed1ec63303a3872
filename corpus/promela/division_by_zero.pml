/* expect: crash
 * oracle: none
 */
/* The divisor becomes 0. */
byte d = 2, q;

active proctype P() { do :: q = 4 / d; d-- od }
