/* expect: invalid-end-state
 * preemptions: 1
 */
/* Two locks taken in opposite orders. */
bool a, b;

active proctype P() { atomic { !a -> a = true }; atomic { !b -> b = true }; b = false; a = false }
active proctype Q() { atomic { !b -> b = true }; atomic { !a -> a = true }; a = false; b = false }
