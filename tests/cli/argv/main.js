console.log(process.argv.length, process.argv[1]);
for (const arg of process.argv.slice(2)) console.log(arg);
