// Tests whose answer here differs, each with the reason. Asked only for those that fail.

const REASONS = [
  [/throws .*int32|int32 throws/, "integers are converted to floats here, as in PyTorch"],
  [/throws for string tensor/, "there are no tensors of strings"],
  [/(arg_(max|min)|max_pool) .* ignores NaNs/, "NaN is the extreme, as in PyTorch"],
  [/ops\/(all|any) .* ignores NaNs/, "NaN is no boolean here"],
  [/(maximum|minimum) > gradients/, "a tie splits the gradient, as in PyTorch"],
  [/pow > gradient/, "the gradient of the exponent is NaN below base 0, as in PyTorch"],
  [/ops\/(max|min) .* ties/, "a tie spreads the gradient, as in PyTorch"],
  [/batchNorm.D .*gradient|sigmoidCrossEntropy > All right|fused conv2d > basic with elu/, "the expected value is rounded to two digits or fewer"],
  [/avgPool > gradient .* p=explicit/, "tfjs's gradient divides by the whole window, its average by the part without padding"],
  [/input=8x8x8,output=4x4x8,f=8/, "asks for an output that is smaller than what a stride of 1 can give"],
  [/depthwiseConv2d gradients > throws error on dilations/, "a limit of tfjs, not of convolution"],
  [/clone .* bool|does not error if irrelevant|div > gradient; 1d<int32> with 1d<bool>/, "booleans have no gradient here, as in PyTorch"],
  [/one_hot .* gradient/, "indices are no floats here and have no gradient, as in PyTorch"],
  [/slice2d > grad/, "the test's function does not use its argument"],
  [/outside (of )?tf\.grads|errors if relevant ops are missing grads/, "asks for an error of tfjs's tape"],
  [/fromPixels/, "needs a browser"],
  [/ensureShape > null/, "a shape with holes is no shape here"],
  [/einsum > (2d matrix calculate trace|more than two input)/, "einsum takes repeated labels and any number of tensors"],
  [/norm > .* to throw error/, "norm takes every order of a vector, and of a matrix's elements"],
  [/multinomial > creates the same data given the same seed/, "no call has a seed of its own"],
  [/gather > throws when index is out of bound/, "negative indices count from the end, as in NumPy"],
  [/clipByValue > gradient; 1D tensor with max or min value/, "at a bound the gradient is 0, as in PyTorch"],
  [/mirrorPad > grad/, "tfjs's gradient leaves mirrored elements out"],
];

/** The reason why a test may fail, or undefined. */
export function reasonFor(name) {
  return REASONS.find(([pattern]) => pattern.test(name))?.[1];
}
