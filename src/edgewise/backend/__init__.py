"""All arithmetic on rows, behind one door: a reference implementation in NumPy, a compiled one."""
