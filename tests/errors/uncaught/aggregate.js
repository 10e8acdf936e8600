const errors = [new RangeError("one"), new Error("two", { cause: "a string" })];
throw new AggregateError(errors, "both failed");
