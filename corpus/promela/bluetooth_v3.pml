/* expect: assertion
 * preemptions: 1
 */
/* The Bluetooth driver: a worker counts itself in and out, a stopper waits until nobody is in. Version 3: only a worker that was let in leaves again, but two stoppers leave once too often. */
#define WORKERS 1
#define STOPPERS 2
bool stopping, stopped, event; byte pending = 1;

inline leave() {
	atomic { pending--; if :: pending == 0 -> event = true :: else fi }
}

active [WORKERS] proctype Worker() {
	bool ok;
	pending++;
	if
	:: stopping -> leave(); ok = false
	:: else -> ok = true
	fi;
	if
	:: ok -> assert(!stopped); leave()
	:: else
	fi
}

active [STOPPERS] proctype Stopper() {
	stopping = true;
	leave();
	event;
	stopped = true
}
