/* A sliding window of W over lossy channels: sequence numbers modulo M. */
#ifndef W
#define W 3
#endif
#ifndef CAP
#define CAP 3
#endif
#define M (W + 1)
chan data = [CAP] of { byte };
chan acks = [CAP] of { byte };

active proctype Sender() {
    byte low, open;
    byte got;
    do
    :: open < W -> data!((low + open) % M); open++
    :: open > 0 -> data!low
    :: acks?got ->
        do
        :: open > 0 && low != got -> low = (low + 1) % M; open--
        :: else -> break
        od
    od
}

active proctype Receiver() {
    byte want, seen;
    do
    :: data?seen ->
        if
        :: seen == want -> want = (want + 1) % M
        :: else
        fi;
        acks!want
    od
}

active proctype Loss() {
    do
    :: data?_
    :: acks?_
    od
}
