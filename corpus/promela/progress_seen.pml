/* expect: ltl
 * oracle: none
 */
/* np_ in a never claim that ends. Spin knows np_ only in the claim that it makes itself with -DNP; in others it is always true. */
byte x;
active proctype P() { do :: x < 3 -> progress: x++ :: x == 3 -> x = 4; break od }
never { do :: !np_ -> break :: else od; do :: x == 4 && np_ -> break :: else od }
