"""Writes oracle.json: outputs and gradients of layers, computed by PyTorch in float64 from
parameters and inputs rounded to float32. Run with any CPU build of PyTorch 2:

    python oracle.py > oracle.json
"""
import json
import torch
from torch import nn

torch.manual_seed(3)


def numbers(t):
    if t is None:
        return None
    t = t.detach()
    if t.dtype in (torch.int64, torch.bool):
        return {"shape": list(t.shape), "dtype": str(t.dtype)[6:], "data": [int(v) for v in t.flatten().tolist()]}
    return {"shape": list(t.shape), "data": [float(f"{v:.7g}") for v in t.flatten().tolist()]}


def flat(out):
    if isinstance(out, torch.Tensor):
        return [out]
    return [t for part in out if part is not None for t in flat(part)]


def rounded(*shape):
    return torch.randn(*shape).float().double()


def case(name, layer, *inputs, train=True, call=None, kwargs=None):
    layer = layer.double().train(train)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(p.float().double())
        for key, p in layer.named_parameters():
            # Ones and zeros would hide mistakes.
            if p.ndim == 1:
                p.add_(0.3 * torch.randn_like(p)).copy_(p.float().double())
    state = {k: numbers(v) for k, v in layer.state_dict().items()}
    leaves = [t.requires_grad_() if t.is_floating_point() else t for t in inputs]
    outputs = flat(call(layer, *leaves) if call else layer(*leaves, **(kwargs or {})))
    loss = sum((o * torch.cos(torch.arange(o.numel(), dtype=torch.float64)).reshape(o.shape)).sum() for o in outputs)
    loss.backward()
    return {
        "name": name,
        "train": train,
        "state": state,
        "inputs": [numbers(t) for t in inputs],
        "outputs": [numbers(o) for o in outputs],
        "inputGrads": [numbers(t.grad) if t.is_floating_point() else None for t in leaves],
        "grads": {k: numbers(p.grad) for k, p in layer.named_parameters()},
        "after": {k: numbers(v) for k, v in layer.named_buffers()},
    }


def masked_attention(m, x):
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[1, 3:] = True
    return m(x, x, x, key_padding_mask=mask, attn_mask=nn.Transformer.generate_square_subsequent_mask(5).double())


cases = [
    case("Linear", nn.Linear(4, 3), rounded(2, 5, 4)),
    case("Linear without bias", nn.Linear(4, 3, bias=False), rounded(2, 4)),
    case("Conv1d", nn.Conv1d(2, 4, 3, stride=2, padding=1, dilation=2, groups=2), rounded(2, 2, 11)),
    case("Conv2d", nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=1), rounded(2, 2, 6, 5)),
    case("Conv2d same", nn.Conv2d(2, 2, 4, padding="same"), rounded(1, 2, 5, 6)),
    case("Conv2d reflect", nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"), rounded(1, 1, 4, 5)),
    case("Conv2d circular", nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode="circular"), rounded(1, 1, 4, 5)),
    case("ConvTranspose2d", nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1), rounded(2, 2, 3, 4)),
    case("ConvTranspose2d groups", nn.ConvTranspose2d(4, 2, 3, groups=2, dilation=2), rounded(1, 4, 3, 3)),
    case("Embedding", nn.Embedding(6, 3), torch.tensor([[0, 2, 2], [5, 1, 0]])),
    case("Embedding padding", nn.Embedding(6, 3, padding_idx=2), torch.tensor([[0, 2, 2], [5, 1, 0]])),
    case("LayerNorm", nn.LayerNorm(5), rounded(2, 3, 5)),
    case("LayerNorm two", nn.LayerNorm([3, 5], eps=1e-3), rounded(2, 3, 5)),
    case("LayerNorm without bias", nn.LayerNorm(5, bias=False), rounded(3, 5)),
    case("LayerNorm plain", nn.LayerNorm(5, elementwise_affine=False), rounded(3, 5)),
    case("RMSNorm", nn.RMSNorm(5, eps=1e-6), rounded(2, 3, 5)),
    case("BatchNorm1d", nn.BatchNorm1d(3), rounded(4, 3)),
    case("BatchNorm1d length", nn.BatchNorm1d(3, momentum=None), rounded(2, 3, 4)),
    case("BatchNorm1d eval", nn.BatchNorm1d(3), rounded(4, 3), train=False),
    case("BatchNorm2d", nn.BatchNorm2d(3, eps=1e-3, momentum=0.3), rounded(2, 3, 2, 3)),
    case("BatchNorm2d untracked", nn.BatchNorm2d(3, track_running_stats=False), rounded(2, 3, 2, 3), train=False),
    case("GroupNorm", nn.GroupNorm(2, 4), rounded(2, 4, 3)),
    case("MaxPool2d", nn.MaxPool2d(3, stride=2, padding=1), rounded(1, 2, 6, 7)),
    case("MaxPool2d ceil", nn.MaxPool2d(2, ceil_mode=True), rounded(1, 2, 5, 5)),
    case("AvgPool2d", nn.AvgPool2d(2), rounded(1, 2, 4, 6)),
    case("AvgPool2d padded", nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), rounded(1, 2, 5, 6)),
    case("MultiheadAttention", nn.MultiheadAttention(6, 2), rounded(4, 2, 6), rounded(5, 2, 6), rounded(5, 2, 6)),
    case("MultiheadAttention self", nn.MultiheadAttention(6, 3, batch_first=True), rounded(2, 4, 6), call=lambda m, x: m(x, x, x)),
    case("MultiheadAttention fast", nn.MultiheadAttention(6, 3, batch_first=True, bias=False), rounded(2, 4, 6),
         call=lambda m, x: m(x, x, x, need_weights=False)),
    case("MultiheadAttention masks", nn.MultiheadAttention(6, 2, batch_first=True), rounded(2, 5, 6), call=masked_attention),
    case("MultiheadAttention kdim", nn.MultiheadAttention(6, 2, kdim=3, vdim=4), rounded(4, 2, 6), rounded(5, 2, 3), rounded(5, 2, 4)),
    case("MultiheadAttention unbatched", nn.MultiheadAttention(6, 2), rounded(4, 6), rounded(5, 6), rounded(5, 6)),
    case("TransformerEncoderLayer", nn.TransformerEncoderLayer(6, 2, dim_feedforward=8, dropout=0.0), rounded(3, 2, 6)),
    case("TransformerEncoderLayer norm first", nn.TransformerEncoderLayer(6, 2, dim_feedforward=8, dropout=0.0, activation="gelu",
         batch_first=True, norm_first=True), rounded(2, 3, 6)),
    case("RNN", nn.RNN(3, 4, num_layers=2), rounded(5, 2, 3)),
    case("RNN relu", nn.RNN(3, 4, nonlinearity="relu", batch_first=True), rounded(2, 5, 3), rounded(1, 2, 4)),
    case("LSTM", nn.LSTM(3, 4), rounded(5, 2, 3)),
    case("LSTM deep", nn.LSTM(3, 2, num_layers=2, bidirectional=True, batch_first=True), rounded(2, 4, 3)),
    case("LSTM state", nn.LSTM(3, 4, bias=False), rounded(5, 2, 3), rounded(1, 2, 4), rounded(1, 2, 4), call=lambda m, x, h, c: m(x, (h, c))),
    case("LSTM unbatched", nn.LSTM(3, 4), rounded(5, 3)),
    case("GRU", nn.GRU(3, 4), rounded(5, 2, 3)),
    case("GRU deep", nn.GRU(3, 2, num_layers=2, bidirectional=True), rounded(4, 2, 3), rounded(4, 2, 2)),
    case("ReLU", nn.ReLU(), rounded(7)),
    case("LeakyReLU", nn.LeakyReLU(0.2), rounded(7)),
    case("ELU", nn.ELU(1.5), rounded(7)),
    case("GELU", nn.GELU(), rounded(7)),
    case("GELU tanh", nn.GELU(approximate="tanh"), rounded(7)),
    case("SiLU", nn.SiLU(), rounded(7)),
    case("Sigmoid", nn.Sigmoid(), rounded(7)),
    case("Tanh", nn.Tanh(), rounded(7)),
    case("Softplus", nn.Softplus(beta=2), rounded(7)),
    case("Softmax", nn.Softmax(1), rounded(2, 3, 2)),
    case("LogSoftmax", nn.LogSoftmax(-1), rounded(2, 3)),
    case("CrossEntropyLoss", nn.CrossEntropyLoss(label_smoothing=0.1), rounded(4, 3), torch.tensor([0, 2, 1, 1])),
    case("MSELoss", nn.MSELoss(), rounded(4, 3), rounded(4, 3)),
    case("SmoothL1Loss", nn.SmoothL1Loss(beta=0.5), rounded(4, 3), rounded(4, 3)),
    case("BCEWithLogitsLoss", nn.BCEWithLogitsLoss(reduction="sum"), rounded(4, 3), rounded(4, 3)),
]
print("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]")
