process.stdout.write("no newline");
process.stdout.write(new Uint8Array([33, 10]));
const [seconds, nanoseconds] = process.hrtime();
console.log(Number.isInteger(seconds), nanoseconds >= 0 && nanoseconds < 1e9);
const begin = process.hrtime.bigint();
console.log(typeof begin, process.hrtime.bigint() >= begin, process.hrtime([seconds, nanoseconds])[0]);
console.log(process.cwd() === import.meta.dirname, process.platform, process.arch.length > 0);
process.env.MADE_HERE = 7;
console.log(process.env.MADE_HERE, process.env.NOT_THERE, "HOME" in process.env);
delete process.env.MADE_HERE;
console.log("MADE_HERE" in process.env, Object.keys(process.env).includes("HOME"));
console.log(Object.prototype.toString.call(process), typeof process.pid, process.exitCode);
console.log(process.stdout.isTTY, process.stdout.columns, process.stderr.fd);
console.log(Object.keys(process.versions), process.memoryUsage().rss > 0, process.uptime() > 0);
const usage = process.cpuUsage(), own = process.threadCpuUsage();
for (let x = 0; process.threadCpuUsage(own).user + process.threadCpuUsage(own).system < 20_000;) x = Math.sin(x + 1);
const { user, system } = process.cpuUsage(usage);
console.log(Object.keys(usage), user + system >= 20_000);
for (const bad of [() => process.cpuUsage(1), () => process.exit("x"), () => process.stdout.write(1), () => process.exitCode = 1.5]) {
  try {
    bad();
  } catch (error) {
    console.log(`${error.name}: ${error.message}`);
  }
}
