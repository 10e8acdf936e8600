// Generated from the op table by ext/tensor/core/tests/generated.rs; do not edit.
// One method per elementwise row; the numbers are the rows'.

import { addOperations, binary, inPlace, noMore, noOptions, unary } from "ext:mlrun_tensor/00_handle.js";

addOperations({
  /** Negative, -x. */
  neg(more) {
    if (more !== undefined) noMore("neg", more);
    return unary(0, this);
  },
  /** Absolute value; the gradient at 0 is 0. */
  abs(more) {
    if (more !== undefined) noMore("abs", more);
    return unary(1, this);
  },
  /** -1, 0 or 1. */
  sign(more) {
    if (more !== undefined) noMore("sign", more);
    return unary(2, this);
  },
  /** x squared. */
  square(more) {
    if (more !== undefined) noMore("square", more);
    return unary(3, this);
  },
  /** max(x, 0); the gradient at 0 is 0. */
  relu(more) {
    if (more !== undefined) noMore("relu", more);
    return unary(4, this);
  },
  /** The largest whole number not above x. */
  floor(more) {
    if (more !== undefined) noMore("floor", more);
    return unary(5, this);
  },
  /** The smallest whole number not below x. */
  ceil(more) {
    if (more !== undefined) noMore("ceil", more);
    return unary(6, this);
  },
  /** The nearest whole number, halves to even. */
  round(more) {
    if (more !== undefined) noMore("round", more);
    return unary(7, this);
  },
  /** x without its fraction. */
  trunc(more) {
    if (more !== undefined) noMore("trunc", more);
    return unary(8, this);
  },
  /** e to the power x. */
  exp(more) {
    if (more !== undefined) noMore("exp", more);
    return unary(9, this);
  },
  /** exp(x) - 1, exact near 0. */
  expm1(more) {
    if (more !== undefined) noMore("expm1", more);
    return unary(10, this);
  },
  /** Natural logarithm. */
  log(more) {
    if (more !== undefined) noMore("log", more);
    return unary(11, this);
  },
  /** log(1 + x), exact near 0. */
  log1p(more) {
    if (more !== undefined) noMore("log1p", more);
    return unary(12, this);
  },
  /** Logarithm to base 2. */
  log2(more) {
    if (more !== undefined) noMore("log2", more);
    return unary(13, this);
  },
  /** Logarithm to base 10. */
  log10(more) {
    if (more !== undefined) noMore("log10", more);
    return unary(14, this);
  },
  /** Square root. */
  sqrt(more) {
    if (more !== undefined) noMore("sqrt", more);
    return unary(15, this);
  },
  /** 1 / sqrt(x). */
  rsqrt(more) {
    if (more !== undefined) noMore("rsqrt", more);
    return unary(16, this);
  },
  /** 1 / x. */
  reciprocal(more) {
    if (more !== undefined) noMore("reciprocal", more);
    return unary(17, this);
  },
  /** Sine of x in radians. */
  sin(more) {
    if (more !== undefined) noMore("sin", more);
    return unary(18, this);
  },
  /** Cosine of x in radians. */
  cos(more) {
    if (more !== undefined) noMore("cos", more);
    return unary(19, this);
  },
  /** Tangent of x in radians. */
  tan(more) {
    if (more !== undefined) noMore("tan", more);
    return unary(20, this);
  },
  /** Inverse sine, in radians. */
  asin(more) {
    if (more !== undefined) noMore("asin", more);
    return unary(21, this);
  },
  /** Inverse cosine, in radians. */
  acos(more) {
    if (more !== undefined) noMore("acos", more);
    return unary(22, this);
  },
  /** Inverse tangent, in radians. */
  atan(more) {
    if (more !== undefined) noMore("atan", more);
    return unary(23, this);
  },
  /** Hyperbolic sine. */
  sinh(more) {
    if (more !== undefined) noMore("sinh", more);
    return unary(24, this);
  },
  /** Hyperbolic cosine. */
  cosh(more) {
    if (more !== undefined) noMore("cosh", more);
    return unary(25, this);
  },
  /** Hyperbolic tangent. */
  tanh(more) {
    if (more !== undefined) noMore("tanh", more);
    return unary(26, this);
  },
  /** 1 / (1 + exp(-x)). */
  sigmoid(more) {
    if (more !== undefined) noMore("sigmoid", more);
    return unary(27, this);
  },
  /** Error function. */
  erf(more) {
    if (more !== undefined) noMore("erf", more);
    return unary(28, this);
  },
  /** x * sigmoid(x), also called swish. */
  silu(more) {
    if (more !== undefined) noMore("silu", more);
    return unary(29, this);
  },
  /** Sum. */
  add(other, more) {
    if (more !== undefined) noOptions("add", more);
    return binary(38, "add", this, other);
  },
  /** As add, in this tensor's own memory; returns this. */
  add_(other, more) {
    if (more !== undefined) noOptions("add_", more);
    return inPlace(38, "add_", this, other);
  },
  /** Difference. */
  sub(other, more) {
    if (more !== undefined) noOptions("sub", more);
    return binary(39, "sub", this, other);
  },
  /** As sub, in this tensor's own memory; returns this. */
  sub_(other, more) {
    if (more !== undefined) noOptions("sub_", more);
    return inPlace(39, "sub_", this, other);
  },
  /** Product. */
  mul(other, more) {
    if (more !== undefined) noOptions("mul", more);
    return binary(40, "mul", this, other);
  },
  /** As mul, in this tensor's own memory; returns this. */
  mul_(other, more) {
    if (more !== undefined) noOptions("mul_", more);
    return inPlace(40, "mul_", this, other);
  },
  /** Quotient; integers give float32. */
  div(other, more) {
    if (more !== undefined) noOptions("div", more);
    return binary(41, "div", this, other);
  },
  /** As div, in this tensor's own memory; returns this. */
  div_(other, more) {
    if (more !== undefined) noOptions("div_", more);
    return inPlace(41, "div_", this, other);
  },
  /** a to the power b. */
  pow(other, more) {
    if (more !== undefined) noOptions("pow", more);
    return binary(42, "pow", this, other);
  },
  /** Angle of the point (b, a), in radians. */
  atan2(other, more) {
    if (more !== undefined) noOptions("atan2", more);
    return binary(43, "atan2", this, other);
  },
  /** The larger one; NaN wins and lets the gradient to both; a tie splits it. */
  maximum(other, more) {
    if (more !== undefined) noOptions("maximum", more);
    return binary(44, "maximum", this, other);
  },
  /** The smaller one; NaN wins and lets the gradient to both; a tie splits it. */
  minimum(other, more) {
    if (more !== undefined) noOptions("minimum", more);
    return binary(45, "minimum", this, other);
  },
  /** Python's %: the sign of the divisor. */
  remainder(other, more) {
    if (more !== undefined) noOptions("remainder", more);
    return binary(46, "remainder", this, other);
  },
  /** Python's //: the quotient rounded down. */
  floorDivide(other, more) {
    if (more !== undefined) noOptions("floorDivide", more);
    return binary(47, "floorDivide", this, other);
  },
  /** a equals b. */
  eq(other, more) {
    if (more !== undefined) noOptions("eq", more);
    return binary(49, "eq", this, other);
  },
  /** a differs from b. */
  ne(other, more) {
    if (more !== undefined) noOptions("ne", more);
    return binary(50, "ne", this, other);
  },
  /** a is greater than b. */
  gt(other, more) {
    if (more !== undefined) noOptions("gt", more);
    return binary(51, "gt", this, other);
  },
  /** a is greater than or equal to b. */
  ge(other, more) {
    if (more !== undefined) noOptions("ge", more);
    return binary(52, "ge", this, other);
  },
  /** a is less than b. */
  lt(other, more) {
    if (more !== undefined) noOptions("lt", more);
    return binary(53, "lt", this, other);
  },
  /** a is less than or equal to b. */
  le(other, more) {
    if (more !== undefined) noOptions("le", more);
    return binary(54, "le", this, other);
  },
  /** Both are not 0. */
  logicalAnd(other, more) {
    if (more !== undefined) noOptions("logicalAnd", more);
    return binary(55, "logicalAnd", this, other);
  },
  /** At least one is not 0. */
  logicalOr(other, more) {
    if (more !== undefined) noOptions("logicalOr", more);
    return binary(56, "logicalOr", this, other);
  },
  /** x is NaN. */
  isnan(more) {
    if (more !== undefined) noMore("isnan", more);
    return unary(57, this);
  },
  /** x is plus or minus infinity. */
  isinf(more) {
    if (more !== undefined) noMore("isinf", more);
    return unary(58, this);
  },
  /** x is neither NaN nor infinite. */
  isfinite(more) {
    if (more !== undefined) noMore("isfinite", more);
    return unary(59, this);
  },
  /** x is 0. */
  logicalNot(more) {
    if (more !== undefined) noMore("logicalNot", more);
    return unary(60, this);
  },
  /** Bitwise and of integers or booleans. */
  bitwiseAnd(other, more) {
    if (more !== undefined) noOptions("bitwiseAnd", more);
    return binary(61, "bitwiseAnd", this, other);
  },
  /** Bitwise or of integers or booleans. */
  bitwiseOr(other, more) {
    if (more !== undefined) noOptions("bitwiseOr", more);
    return binary(62, "bitwiseOr", this, other);
  },
  /** Bitwise exclusive or of integers or booleans. */
  bitwiseXor(other, more) {
    if (more !== undefined) noOptions("bitwiseXor", more);
    return binary(63, "bitwiseXor", this, other);
  },
});
