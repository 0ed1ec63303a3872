/* expect: assertion
 * preemptions: 1
 */
/* The Bluetooth driver: a worker counts itself in and out, a stopper waits until nobody is in. Version 1: the test of the flag and the count are two steps. */
#define WORKERS 1
bool stopping, stopped, event; byte pending = 1;

inline leave() {
	atomic { pending--; if :: pending == 0 -> event = true :: else fi }
}

active [WORKERS] proctype Worker() {
	bool ok;
	if
	:: stopping -> ok = false
	:: else -> pending++; ok = true
	fi;
	if
	:: ok -> assert(!stopped); leave()
	:: else
	fi
}

active proctype Stopper() {
	stopping = true;
	leave();
	event;
	stopped = true
}
