/* expect: holds
 */
/* _last in a never claim: who moved last is part of the state. */
byte x;
active [2] proctype P() { x++; x++ }
never { do :: _last == 0 :: _last == 1 :: else od }
