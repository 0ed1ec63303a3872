/* expect: holds
 */
/* Channels in messages and in arrays. */
chan server = [1] of { chan, byte };
chan reply[2] = [1] of { byte };

active proctype Server() {
	chan where; byte what;
end:	do :: server?where,what -> where!what + 1 od
}

active [2] proctype Client() {
	byte got; pid me = _pid - 1;
	server!reply[me],me;
	reply[me]?got;
	assert(got == me + 1)
}
