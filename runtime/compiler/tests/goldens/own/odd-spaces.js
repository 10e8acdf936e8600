import { randn } from "mlrun";
const f = (x) => x.relu();
const y = f (randn([2]));
f　/* 　 */(y);
