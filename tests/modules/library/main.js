import * as library from "mlrun";
console.log(Object.keys(library).length > 0, (await import("mlrun")) === library);
