/* expect: assertion
 * preemptions: 1
 */
/* Two clients may ask before one has its answer, which the trace rules out. */
chan to = [2] of { byte };

trace { do :: to!_; to?_ od }

active [2] proctype Client() { byte n; to!_pid; to?n }
