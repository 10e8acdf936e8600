// The whole allocation happens inside one builtin.
Array.from({ length: 1e9 }, (_, i) => ({ i }));
