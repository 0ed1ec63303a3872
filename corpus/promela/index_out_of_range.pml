/* expect: assertion
 * oracle: verdict
 */
/* The index runs one past the end. */
byte a[3];

active proctype P() { byte i; do :: i <= 3 -> a[i] = i; i++ :: else -> break od }
