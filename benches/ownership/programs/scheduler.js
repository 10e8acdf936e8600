// Cooperative tasks on queues: method calls on objects, no arithmetic to speak of.
class Packet {
  constructor(link, id, kind) { this.link = link; this.id = id; this.kind = kind; this.data = 0; }
  addTo(queue) {
    this.link = null;
    if (queue === null) return this;
    let next = queue;
    while (next.link !== null) next = next.link;
    next.link = this;
    return queue;
  }
}
class Task {
  constructor(scheduler, id, priority, work) {
    this.scheduler = scheduler; this.id = id; this.priority = priority; this.work = work; this.queue = null; this.held = false;
  }
  run() {
    const packet = this.queue;
    if (packet !== null) this.queue = packet.link;
    return this.work.step(packet, this.scheduler);
  }
  accept(packet) { this.queue = packet.addTo(this.queue); return this; }
}
class Sender {
  constructor(target) { this.target = target; this.count = 0; }
  step(packet, scheduler) {
    this.count++;
    return scheduler.send(packet ?? new Packet(null, 0, this.count % 3), this.target);
  }
}
class Scheduler {
  constructor() { this.tasks = []; this.sent = 0; }
  add(work, priority) { this.tasks.push(new Task(this, this.tasks.length, priority, work)); }
  send(packet, to) { this.sent++; packet.id = to; this.tasks[to].accept(packet); return this.tasks[to]; }
  run(rounds) { for (let i = 0; i < rounds; i++) this.tasks[i % this.tasks.length].run(); return this.sent; }
}
export function main() {
  const s = new Scheduler();
  for (let i = 0; i < 6; i++) s.add(new Sender((i + 1) % 6), i);
  return s.run(40000);
}
