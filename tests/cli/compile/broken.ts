const a: = 1;
