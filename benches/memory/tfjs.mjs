// The programs of compare.py in TensorFlow.js on Node, as its guide writes them: with tidy.
import * as tf from "@tensorflow/tfjs";

const [name, steps] = [process.argv[2], Number(process.argv[3])];

function training() {
  const x = tf.randomNormal([512, 64]), y = tf.randomNormal([512, 1]);
  const w1 = tf.variable(tf.randomNormal([64, 256]).mul(0.1)), b1 = tf.variable(tf.zeros([256]));
  const w2 = tf.variable(tf.randomNormal([256, 1]).mul(0.1)), b2 = tf.variable(tf.zeros([1]));
  const optimizer = tf.train.adam(1e-3);
  return () => optimizer.minimize(() => x.matMul(w1).add(b1).tanh().matMul(w2).add(b2).sub(y).square().mean());
}

function window() {
  const last = [];
  return () => {
    last.push(tf.randomNormal([256, 1024]));
    if (last.length > 3) last.shift().dispose();
  };
}

function chain() {
  let x = tf.ones([512, 512]);
  return () => {
    const next = tf.tidy(() => x.mul(0.5).add(1));
    x.dispose();
    x = next;
  };
}

const drop = () => () => tf.tidy(() => {
  tf.randomNormal([256, 1024]);
});
const programs = { drop, chain, window, training };
await tf.setBackend("cpu");
const step = programs[name]();
step();
console.log("start");
for (let i = 0; i < steps; i++) step();
console.log("end");
