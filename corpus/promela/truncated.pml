/* expect: holds
 */
/* Values that do not fit are cut: a warning, no violation. */
byte small; bit flag; short half; unsigned three : 3;
chan c = [1] of { byte };

proctype Other(byte given) { given = given }

init {
	int wide = 1000;
	small = 256; small--; small = 255;
	flag = 1; flag++;
	half = 32767; half++;
	three = 9;
	c!300; c?wide; c!44; c?small;
	d_step { small = 299; wide = small };
	run Other(257);
	small = (wide > 300 -> 1 : 2)
}
