mtype = { a, b };
typedef T { byte f[2]; bit g };
chan c = [2] of { mtype, byte };
chan r = [0] of { T };
T t;
inline put(m, v) { c!m,v }
active [2] proctype P() provided (t.g == 0) {
  byte i;
  L: do
  :: i < 2 -> atomic { put(a, i); i++ }
  :: c??[b, _] -> c??b, i
  :: timeout -> break
  :: else -> goto L
  od unless { t.f[0] > 1 };
  d_step { t.f[1] = 1; if :: t.f[1] -> skip :: else fi };
  for (i : 0 .. 2) { t.f[i % 2] = i };
  select (i : 1 .. 2)
}
init { run P(); end: (np_ || _nr_pr == 1) }
never { accept: do :: !t.g od }
