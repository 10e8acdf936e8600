// The namespace nn.

import * as init from "ext:mlrun_tensor/02_init.js";
import * as utils from "ext:mlrun_tensor/02_utils.js";
import * as functional from "ext:mlrun_tensor/02_functional.js";

export { Module, Parameter } from "ext:mlrun_tensor/02_module.js";
export {
  AvgPool2d, BatchNorm1d, BatchNorm2d, Conv1d, Conv2d, ConvTranspose2d, Dropout, Embedding, Flatten, GroupNorm, Identity,
  LayerNorm, Linear, MaxPool2d, ModuleList, RMSNorm, Sequential,
} from "ext:mlrun_tensor/02_layers.js";
export {
  BCEWithLogitsLoss, CrossEntropyLoss, ELU, GELU, L1Loss, LeakyReLU, LogSoftmax, MSELoss, NLLLoss, ReLU, Sigmoid, SiLU,
  SmoothL1Loss, Softmax, Softplus, Tanh,
} from "ext:mlrun_tensor/02_activations.js";
export { MultiheadAttention, TransformerEncoderLayer } from "ext:mlrun_tensor/02_attention.js";
export { GRU, LSTM, RNN } from "ext:mlrun_tensor/02_recurrent.js";
export { functional, init, utils };
