/* expect: holds
 */
/* A process that may move only while the other lets it. */
bool open; byte n;

active proctype Gate() { open = true; n == 2; open = false }
active proctype Guest() provided (open) { n++; n++ }
