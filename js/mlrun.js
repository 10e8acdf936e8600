// What `import ... from "mlrun"` gives.

import { internals } from "ext:core/mod.js";
import { bindOps } from "ext:mlrun_tensor/00_handle.js";
import "ext:mlrun_tensor/00_function_text.js";
import "ext:mlrun_tensor/00_ops.js";
import "ext:mlrun_tensor/00_format.js";
import "ext:mlrun_tensor/00_rows.js";
import "ext:mlrun_tensor/00_reduce.js";
import "ext:mlrun_tensor/00_json.js";
import * as nnModule from "ext:mlrun_tensor/02_nn.js";
import * as ioModule from "ext:mlrun_tensor/05_io.js";
import * as optimModule from "ext:mlrun_tensor/03_optim.js";
import * as dataModule from "ext:mlrun_tensor/04_data.js";
import * as metricsModule from "ext:mlrun_tensor/04_metrics.js";

export { keep, Tensor, TensorMemoryError, tidy } from "ext:mlrun_tensor/00_handle.js";
export {
  arange, bernoulli, empty, emptyLike, eye, full, fullLike, linspace, manualSeed, multinomial, ones, onesLike, rand, randint, randintLike, randLike,
  randn, randnLike, randperm, tensor, zeros, zerosLike,
} from "ext:mlrun_tensor/00_make.js";
export { einsum } from "ext:mlrun_tensor/00_einsum.js";
export { concat } from "ext:mlrun_tensor/00_direct.js";
export { stack, where } from "ext:mlrun_tensor/00_shape.js";
export { autograd, checkpoint, enableGrad, grad, noGrad, valueAndGrad } from "ext:mlrun_tensor/01_autograd.js";
export { gc, heapSnapshot, memoryStats, resetPeakMemory, setMemoryLimit } from "ext:mlrun_tensor/06_memory.js";
export { Checkpoints } from "ext:mlrun_tensor/07_checkpoints.js";
export { nextTurn } from "ext:mlrun_tensor/08_turns.js";
export { progress, summary } from "ext:mlrun_tensor/07_training.js";

export const nn = nnModule;
export const optim = optimModule;
export const io = ioModule;
export const data = dataModule;
export const metrics = metricsModule;
export { functional as F } from "ext:mlrun_tensor/02_nn.js";

internals.onStart(bindOps);
