/* expect: assertion
 * preemptions: 0
 */
/* The notrace describes what must not happen: the message of A comes before that of B. */
chan c = [2] of { byte };

notrace { c!1; c!2 }

active proctype A() { c!1; byte x; end: c?x }
active proctype B() { c!2; byte x; end: c?x }
