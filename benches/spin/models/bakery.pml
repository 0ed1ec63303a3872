/* Lamport's bakery for N customers; a ticket beyond TOP is not drawn. */
#ifndef N
#define N 3
#endif
#ifndef TOP
#define TOP 12
#endif
bool choosing[N];
byte ticket[N];
byte inside;

active [N] proctype Customer() {
    byte j, most;
again:
    choosing[_pid] = true;
    j = 0; most = 0;
    do
    :: j < N ->
        if
        :: ticket[j] > most -> most = ticket[j]
        :: else
        fi;
        j++
    :: else -> break
    od;
    if
    :: most < TOP
    :: else -> choosing[_pid] = false; goto again
    fi;
    ticket[_pid] = most + 1;
    choosing[_pid] = false;
    j = 0;
    do
    :: j < N ->
        !choosing[j];
        ticket[j] == 0 || ticket[j] > ticket[_pid] || (ticket[j] == ticket[_pid] && j >= _pid);
        j++
    :: else -> break
    od;
    inside++;
    assert(inside == 1);
    inside--;
    ticket[_pid] = 0;
    goto again
}
