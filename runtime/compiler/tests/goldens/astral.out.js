const s         = "😀", t         = s.length, ü      = null; ü .foo(t       , /* 😀 */ s );
