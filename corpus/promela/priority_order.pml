/* expect: holds
 */
/* Priorities decide who moves; a process may change its own. */
byte x;
active proctype L() priority 1 { x = 1; x = 2; assert(_priority == 1) }
active proctype H() priority 5 { x = 3; assert(x == 3); set_priority(_pid, 1); x = 4; assert(get_priority(_pid) == 1) }
active proctype M() priority 3 { x = 5; x = 6 }
