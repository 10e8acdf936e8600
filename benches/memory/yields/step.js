import { nn, optim, randn } from "mlrun";

/** A step of training on `rows` rows. */
export function training(rows) {
  const x = randn([rows, 32]), y = randn([rows, 1]);
  const model = new nn.Sequential(new nn.Linear(32, 64), new nn.Tanh(), new nn.Linear(64, 1));
  const optimizer = new optim.Adam(model.parameters(), { lr: 1e-3 });
  return () => {
    const loss = nn.functional.mseLoss(model.forward(x), y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
  };
}
