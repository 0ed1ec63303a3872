/* expect: holds
 */
/* The Bluetooth driver: a worker counts itself in and out, a stopper waits until nobody is in. The count comes first, a worker that was let in leaves once, and there is one stopper: right. */
#define WORKERS 2
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

active proctype Stopper() {
	stopping = true;
	leave();
	event;
	stopped = true
}
