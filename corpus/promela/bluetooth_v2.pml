/* expect: assertion
 * preemptions: 1
 */
/* The Bluetooth driver, version 2: the count comes before the test of the flag, but a worker that was refused
 * leaves twice. Two workers and a stopper. */
bool stopping, stopped, event; byte pending = 1;

inline leave() {
	atomic { pending--; if :: pending == 0 -> event = true :: else fi }
}

active [2] proctype Worker() {
	bool ok;
	pending++;
	if
	:: stopping -> leave(); ok = false
	:: else -> ok = true
	fi;
	if
	:: ok -> assert(!stopped)
	:: else
	fi;
	leave()
}

active proctype Stopper() {
	stopping = true;
	leave();
	event;
	stopped = true
}
