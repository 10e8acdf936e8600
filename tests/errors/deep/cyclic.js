const error = new Error("cyclic");
error.cause = error;
throw error;
