/* expect: holds
 */
/* A channel that lives and dies with its process. */
byte total;

proctype Child(byte n) { chan own = [2] of { byte }; byte v; own!n; own?v; total = total + v }

init { run Child(1); _nr_pr == 1; run Child(2); _nr_pr == 1; assert(total == 3) }
