/* expect: invalid-end-state
 * preemptions: 0
 */
/* The processes may stay where they are, the trace may not. */
chan c = [2] of { byte };

trace { c!1; c!2 }

active proctype A() { c!1; end: false }
