// The rules of the language and of the ownership pass that random programs exercise, and how often they did.
//
// Invariant: a rule that is counted is in the list, so that one that never occurs is noticed.

const RULES = [
  "closure kept", "closure in a loop", "closure that counts", "curried", "memo", "label", "labelled block", "labelled try", "labelled if", "labelled switch", "labelled loop",
  "jump through a finally", "jump out of a finally", "loop variable", "loop over elements", "while", "loop over keys", "loop into a member", "switch", "switch over tensors", "try and catch",
  "class", "class closure", "private field", "derived class", "foreign new", "static field", "static block", "private method", "brand check", "computed member", "accessor of a class", "class expression",
  "accessor of a literal", "super call", "new.target", "constructor that returns", "fields only", "conversion method", "default", "arguments", "spread argument", "rest parameter", "destructured parameter",
  "destructuring", "nested pattern", "pattern into members", "rest of a pattern", "swap", "bound function", "bound twice", "bound method", "call and apply", "reflection", "native callback", "species", "species of the program",
  "array subclass", "indirect eval", "direct eval", "map and set", "result seen", "filled array", "array of a length", "array method", "sorted array", "replaced builtin", "json and object", "text of json", "grouped",
  "tagged template", "optional call", "logical assignment", "operand reassigned", "generator", "yield*", "yield* of a list", "result of yield*", "value sent to a generator", "generator method", "stepping by hand",
  "iterator of the program", "iterator helper", "generator ended early", "finally that returns", "finally around a jump", "shared promise", "promise in a constant", "promise kept", "promise in a field", "promises of a list",
  "promise made by hand", "settled promises", "await in a loop", "await in a try", "await of a value", "async generator", "delegating async generator", "loop over promises", "async method", "microtask", "thenable", "rejected promise",
  "view", "in-place operation", "in-place on a view", "donation", "donation with an alias", "failing operation", "disposal", "using", "await using", "gradient of a closure", "value and gradient", "gradient of a tree",
  "backward", "no gradient", "tidy", "checkpoint", "layer", "optimizer", "array made by a callback", "array from a list", "map of numbers", "flat map", "fold with a start", "fold of closures", "callback with this",
  "sort", "splice", "values and entries", "getter", "getter in a pattern", "getter in a nested pattern", "getter in a parameter", "getter in a loop", "getter of other code in a pattern", "iterator in a pattern",
  "proxy in a pattern", "class behind a pattern", "getter empties its place", "iterator by hand", "list in a field", "filled by a callee", "converted", "property of a function", "recursion", "thrown tensor",
  "frozen object", "defined property", "proxy", "weak map", "spread into a literal", "list changed as a whole", "copy of a list", "conversion of an operand", "assigned properties", "deleted property",
  "optional chain", "spread generator", "counted map", "loop over a map", "counted set", "helpers inside", "helpers of a file", "printed by others", "printed as a copy",
  "stranger remembers", "stranger looks into what it got", "stranger looks into a list", "arguments for a stranger", "stranger in an iterator", "stranger in a generator", "stranger tests an instance",
  "stranger under a known name", "stranger awaits", "pairs of a map are kept", "defaults run other functions",
];

/** How often each rule was exercised. */
export const rules = Object.fromEntries(RULES.map((name) => [name, 0]));

export function rule(name) {
  if (!(name in rules)) throw new Error(`${name} is not in the list of rules`);
  rules[name]++;
}
