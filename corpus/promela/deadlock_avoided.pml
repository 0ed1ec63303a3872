/* expect: holds
 */
/* The same locks, always in the same order. */
bool a, b;

active [2] proctype P() { atomic { !a -> a = true }; atomic { !b -> b = true }; b = false; a = false }
