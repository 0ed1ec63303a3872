/* N counters that go up to TOP, on their own: nothing but successors and the store. */
#ifndef N
#define N 6
#endif
#ifndef TOP
#define TOP 10
#endif
byte count[N];

active [N] proctype Counter() {
    do
    :: count[_pid] < TOP -> count[_pid]++
    :: count[_pid] == TOP -> break
    od
}
