// --memory-limit: the program catches the error, drops what it held and goes on, a hundred times.
import { memoryStats, ones, randn, TensorMemoryError } from "mlrun";

let caught = 0, most = 0;
for (let turn = 0; turn < 100; turn++) {
  let held = [];
  try {
    for (;;) held.push(ones([512, 512]));
  } catch (e) {
    if (e instanceof TensorMemoryError) caught++;
    most = Math.max(most, held.length);
  }
  held = null;
}
console.log(caught, most);
try {
  randn([4096, 4096]);
} catch (e) {
  console.log(`${e.name}: ${e.message.replace(/\d+ bytes are live/, "N bytes are live")}`);
}
console.log(ones([512, 512]).sum().item(), memoryStats().peakBytes <= 16 << 20);
