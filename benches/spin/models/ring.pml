/* Election in a ring of N: the largest number comes round to its process. */
#ifndef N
#define N 6
#endif
#ifndef CAP
#define CAP 2
#endif
mtype = { candidate, winner };
chan link[N] = [CAP] of { mtype, byte };
byte leaders;

proctype Node(chan in, out; byte me) {
    byte number, best;
    bool lost;
    best = me;
    out!candidate(me);
    do
    :: in?candidate(number) ->
        if
        :: number > best -> best = number; lost = true; out!candidate(number)
        :: number == me -> leaders++; assert(leaders == 1); out!winner(me); 
        :: else
        fi
    :: in?winner(number) ->
        if
        :: number == me
        :: else -> assert(lost); out!winner(number)
        fi;
        break
    od
}

init {
    byte i;
    atomic {
        do
        :: i < N -> run Node(link[i], link[(i + 1) % N], (i * 5) % N + 1); i++
        :: else -> break
        od
    }
}
