let w = make();
export const step = () => { w = w.sub(w.mul(0.1)); };
