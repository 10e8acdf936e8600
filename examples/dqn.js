// Deep Q-learning (Mnih et al. 2015) on the cart and pole of Barto, Sutton and Anderson (1983),
// with a replay buffer and a target network.
//
//     mlrun examples/dqn.js [--episodes 300] [--seed 1]
import { manualSeed, nn, noGrad, optim, progress, rand, randint, tensor, zeros } from "mlrun";
import { readOptions } from "./lib/options.js";

const options = readOptions({ episodes: 300, batch: 64, capacity: 10000, gamma: 0.99, lr: 1e-3, tau: 0.01, hidden: 64, seed: 1, goal: 195 });
manualSeed(options.seed);

/** A pole on a cart that is pushed to the left (0) or right (1); the game ends when it falls. */
class CartPole {
  reset() {
    this.state = Array.from(rand([4]).sub(0.5).mul(0.1).toTypedArray());
    this.steps = 0;
    return this.state;
  }
  step(action) {
    const [x, v, angle, turn] = this.state, force = action === 1 ? 10 : -10;
    const mass = 1.1, pole = 0.1, half = 0.5, dt = 0.02;
    const push = (force + pole * half * turn ** 2 * Math.sin(angle)) / mass;
    const spin = (9.8 * Math.sin(angle) - Math.cos(angle) * push) / (half * (4 / 3 - pole * Math.cos(angle) ** 2 / mass));
    const speed = push - pole * half * spin * Math.cos(angle) / mass;
    this.state = [x + dt * v, v + dt * speed, angle + dt * turn, turn + dt * spin];
    const fallen = Math.abs(this.state[0]) > 2.4 || Math.abs(this.state[2]) > 12 * Math.PI / 180;
    return { state: this.state, fallen, ended: fallen || ++this.steps === 200 };
  }
}

/** The last `capacity` moves, in tensors that are written row by row. */
class ReplayBuffer {
  constructor(capacity) {
    this.capacity = capacity;
    this.count = 0;
    this.rows = zeros([capacity, 11]);
  }
  add(state, action, next, fallen) {
    this.rows.select(0, this.count++ % this.capacity).copy_(tensor([...state, action, 1, ...next, fallen ? 1 : 0]));
  }
  draw(n) {
    const rows = this.rows.indexSelect(0, randint(Math.min(this.count, this.capacity), [n]));
    const [state, action, reward, next, fallen] = rows.split([4, 1, 1, 4, 1], 1);
    return { state, action: action.to("int64"), reward, next, fallen };
  }
}

const network = () => new nn.Sequential(new nn.Linear(4, options.hidden), new nn.ReLU(), new nn.Linear(options.hidden, options.hidden), new nn.ReLU(), new nn.Linear(options.hidden, 2));
const online = network(), target = network();
target.loadStateDict(online.stateDict());
const optimizer = new optim.AdamW(online.parameters(), { lr: options.lr });
const buffer = new ReplayBuffer(options.capacity), game = new CartPole();

function learn() {
  const { state, action, reward, next, fallen } = buffer.draw(options.batch);
  const value = online.forward(state).gather(1, action);
  const wanted = noGrad(() => reward.add(target.forward(next).amax(1, { keepdim: true }).mul(fallen.neg().add(1)).mul(options.gamma)));
  const loss = nn.functional.smoothL1Loss(value, wanted);
  optimizer.zeroGrad();
  loss.backward();
  nn.utils.clipGradValue_(online.parameters(), 100);
  optimizer.step();
  // The target follows slowly.
  const follow = online.parameters();
  noGrad(() => target.parameters().forEach((t, i) => t.copy_(t.lerp(follow[i], options.tau))));
}

const lengths = [];
const average = () => lengths.slice(-20).reduce((a, b) => a + b, 0) / Math.min(20, lengths.length);
const bar = progress(options.episodes, { label: "episodes" });
let moves = 0;
for (const episode of bar) {
  let state = game.reset(), ended = false;
  while (!ended) {
    const explore = 0.02 + 0.88 * Math.exp(-moves++ / 1000);
    const action = rand([]).item() < explore ? Number(randint(2, []).item())
      : Number(noGrad(() => online.forward(tensor(state)).argmax()).item());
    const move = game.step(action);
    buffer.add(state, action, move.state, move.fallen);
    [state, ended] = [move.state, move.ended];
    if (buffer.count >= options.batch) learn();
  }
  lengths.push(game.steps);
  bar.set({ average: average() });
  if ((episode + 1) % 25 === 0) console.log(`episode ${episode + 1}: ${average().toFixed(1)} steps on average`);
  if (lengths.length >= 20 && average() >= options.goal) break;
}
console.log(`${average() >= options.goal ? "solved" : "stopped"} after ${lengths.length} episodes, ${average().toFixed(1)} steps on average`);
