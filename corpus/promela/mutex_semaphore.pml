/* expect: holds
 */
/* A semaphore as a channel with one token. */
chan sema = [1] of { bit }; byte inside;

init { sema!1 }

active [3] proctype P() {
	sema?_;
	inside++; assert(inside == 1); inside--;
	sema!1
}
