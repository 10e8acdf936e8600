interface Layer { forward(x: Tensor): Tensor }
export async function run(layers: Layer[], x: Tensor): Promise<Tensor> {
  let h: Tensor = x;
  for (const layer of layers) h = layer.forward(h as Tensor);
  return h.softmax(-1);
}
