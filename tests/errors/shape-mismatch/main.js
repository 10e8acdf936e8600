import { nn, zeros } from "mlrun";

const model = new nn.Linear(8, 2);
model.forward(zeros([4, 7]));
