/* expect: holds
 */
/* The alternating bit protocol over channels that lose messages. */
mtype = { data, ack };
chan down = [1] of { mtype, bit, byte };
chan up = [1] of { mtype, bit };

active proctype Sender() {
	bit seq; byte value;
	do
	:: down!data(seq, value);
	   if
	   :: up?ack(eval(seq)) -> seq = 1 - seq; value = (value + 1) % 3
	   :: up?ack(_)
	   :: timeout
	   fi
	od
}

active proctype Receiver() {
	bit expected, got; byte value, next;
	do
	:: down?data(got, value) ->
		if
		:: got == expected -> assert(value == next); expected = 1 - expected; next = (next + 1) % 3
		:: else
		fi;
		up!ack(got)
	:: down?data(_, _)
	od
}
