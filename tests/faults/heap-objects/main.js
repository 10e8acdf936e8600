const list = [];
for (;;) list.push({});
