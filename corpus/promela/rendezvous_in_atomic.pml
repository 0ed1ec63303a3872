/* expect: invalid-end-state
 */
/* A handshake in the middle of an atomic sequence passes control to the receiver, also into its own atomic sequence. */
byte x, y; chan r = [0] of { byte }; chan s = [0] of { byte };
active proctype P() { atomic { x = 1; r!1; x = 2; r!2; x = 3 } }
active proctype Q() { byte t; atomic { r?t; y = t; s!t; y = 9 }; r?t; y = t }
active proctype R() { byte t; do :: s?t -> x = 7; t = 0 :: x == 3 -> break :: r?t -> break od }
