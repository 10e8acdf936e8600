const s: string = "😀", t: number = s.length, ü: any = null; ü!.foo(t as any, /* 😀 */ s!);
