/* expect: holds
 */
/* else where nothing else can be done here, timeout where nothing can be done anywhere. */
chan c = [1] of { byte }; byte late;

active proctype A() { byte v; do :: c?v -> break :: timeout -> late++; c!1 od; assert(late == 1 && v == 1) }
active proctype B() { byte x; if :: x > 0 -> assert(false) :: else -> x = 1 fi }
