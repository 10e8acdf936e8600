import { nn, optim, randn } from "mlrun";

function train() {
  const model = new nn.Linear(4, 2), optimizer = new optim.Adam(model.parameters(), { lr: 0.1 });
  for (let i = 0; i < 5; i++) {
    optimizer.zeroGrad();
    model.forward(randn([3, 4])).square().mean().backward();
    optimizer.step();
  }
}
train();
console.log("trained");
