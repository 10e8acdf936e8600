export const child = import.meta;
