export const x = "x";
