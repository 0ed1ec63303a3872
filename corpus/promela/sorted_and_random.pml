/* expect: invalid-end-state
 */
/* Sorted sends, random receives, eval, polls, copies that stay. */
chan c = [3] of { byte, short }; byte seen; short v;
active proctype P() { c!!3,-1; c!!1,300; c!!2,5; c!!1,-7 }
active proctype Q() { byte k = 2;
	do
	:: c??eval(k),v -> seen++
	:: c??[1,300] -> c??<1,v>; seen = v
	:: c?1,_ -> k = 1
	:: c?<k,v>; c?k,eval(v) -> k = 3
	:: timeout -> break
	od
}
