/* expect: crash
 * oracle: none
 */
/* A message to a channel that was never made. */
chan c;

active proctype P() { c!1 }
