/* expect: holds
 */
/* Handshakes between three processes, with constants and eval. */
chan c = [0] of { byte, byte };

active proctype A() { c!1,7; c!2,8 }
active proctype B() { byte v; c?1,v; assert(v == 7) }
active proctype C() { byte v = 2, w; c?eval(v),w; assert(w == 8) }
