// Generated from the op table by ext/tensor/core/tests/generated.rs; do not edit.
// One method per elementwise row; the numbers are the rows'.

import { addOperations, binary, inPlace, unary } from "ext:mlrun_tensor/00_handle.js";

addOperations({
  /** Negative, -x. */
  neg() {
    return unary(0, this);
  },
  /** Absolute value; the gradient at 0 is 0. */
  abs() {
    return unary(1, this);
  },
  /** -1, 0 or 1. */
  sign() {
    return unary(2, this);
  },
  /** x squared. */
  square() {
    return unary(3, this);
  },
  /** max(x, 0); the gradient at 0 is 0. */
  relu() {
    return unary(4, this);
  },
  /** The largest whole number not above x. */
  floor() {
    return unary(5, this);
  },
  /** The smallest whole number not below x. */
  ceil() {
    return unary(6, this);
  },
  /** The nearest whole number, halves to even. */
  round() {
    return unary(7, this);
  },
  /** x without its fraction. */
  trunc() {
    return unary(8, this);
  },
  /** e to the power x. */
  exp() {
    return unary(9, this);
  },
  /** exp(x) - 1, exact near 0. */
  expm1() {
    return unary(10, this);
  },
  /** Natural logarithm. */
  log() {
    return unary(11, this);
  },
  /** log(1 + x), exact near 0. */
  log1p() {
    return unary(12, this);
  },
  /** Logarithm to base 2. */
  log2() {
    return unary(13, this);
  },
  /** Logarithm to base 10. */
  log10() {
    return unary(14, this);
  },
  /** Square root. */
  sqrt() {
    return unary(15, this);
  },
  /** 1 / sqrt(x). */
  rsqrt() {
    return unary(16, this);
  },
  /** 1 / x. */
  reciprocal() {
    return unary(17, this);
  },
  /** Sine of x in radians. */
  sin() {
    return unary(18, this);
  },
  /** Cosine of x in radians. */
  cos() {
    return unary(19, this);
  },
  /** Tangent of x in radians. */
  tan() {
    return unary(20, this);
  },
  /** Inverse sine, in radians. */
  asin() {
    return unary(21, this);
  },
  /** Inverse cosine, in radians. */
  acos() {
    return unary(22, this);
  },
  /** Inverse tangent, in radians. */
  atan() {
    return unary(23, this);
  },
  /** Hyperbolic sine. */
  sinh() {
    return unary(24, this);
  },
  /** Hyperbolic cosine. */
  cosh() {
    return unary(25, this);
  },
  /** Hyperbolic tangent. */
  tanh() {
    return unary(26, this);
  },
  /** 1 / (1 + exp(-x)). */
  sigmoid() {
    return unary(27, this);
  },
  /** Error function. */
  erf() {
    return unary(28, this);
  },
  /** x * sigmoid(x), also called swish. */
  silu() {
    return unary(29, this);
  },
  /** Sum. */
  add(other) {
    return binary(38, "add", this, other);
  },
  /** As add, in this tensor's own memory; returns this. */
  add_(other) {
    return inPlace(38, "add_", this, other);
  },
  /** Difference. */
  sub(other) {
    return binary(39, "sub", this, other);
  },
  /** As sub, in this tensor's own memory; returns this. */
  sub_(other) {
    return inPlace(39, "sub_", this, other);
  },
  /** Product. */
  mul(other) {
    return binary(40, "mul", this, other);
  },
  /** As mul, in this tensor's own memory; returns this. */
  mul_(other) {
    return inPlace(40, "mul_", this, other);
  },
  /** Quotient; integers give float32. */
  div(other) {
    return binary(41, "div", this, other);
  },
  /** As div, in this tensor's own memory; returns this. */
  div_(other) {
    return inPlace(41, "div_", this, other);
  },
  /** a to the power b. */
  pow(other) {
    return binary(42, "pow", this, other);
  },
  /** Angle of the point (b, a), in radians. */
  atan2(other) {
    return binary(43, "atan2", this, other);
  },
  /** The larger one; NaN wins and lets the gradient to both; a tie splits it. */
  maximum(other) {
    return binary(44, "maximum", this, other);
  },
  /** The smaller one; NaN wins and lets the gradient to both; a tie splits it. */
  minimum(other) {
    return binary(45, "minimum", this, other);
  },
  /** Python's %: the sign of the divisor. */
  remainder(other) {
    return binary(46, "remainder", this, other);
  },
  /** Python's //: the quotient rounded down. */
  floorDivide(other) {
    return binary(47, "floorDivide", this, other);
  },
  /** a equals b. */
  eq(other) {
    return binary(49, "eq", this, other);
  },
  /** a differs from b. */
  ne(other) {
    return binary(50, "ne", this, other);
  },
  /** a is greater than b. */
  gt(other) {
    return binary(51, "gt", this, other);
  },
  /** a is greater than or equal to b. */
  ge(other) {
    return binary(52, "ge", this, other);
  },
  /** a is less than b. */
  lt(other) {
    return binary(53, "lt", this, other);
  },
  /** a is less than or equal to b. */
  le(other) {
    return binary(54, "le", this, other);
  },
  /** Both are not 0. */
  logicalAnd(other) {
    return binary(55, "logicalAnd", this, other);
  },
  /** At least one is not 0. */
  logicalOr(other) {
    return binary(56, "logicalOr", this, other);
  },
  /** x is NaN. */
  isnan() {
    return unary(57, this);
  },
  /** x is plus or minus infinity. */
  isinf() {
    return unary(58, this);
  },
  /** x is neither NaN nor infinite. */
  isfinite() {
    return unary(59, this);
  },
  /** x is 0. */
  logicalNot() {
    return unary(60, this);
  },
  /** Bitwise and of integers or booleans. */
  bitwiseAnd(other) {
    return binary(61, "bitwiseAnd", this, other);
  },
  /** Bitwise or of integers or booleans. */
  bitwiseOr(other) {
    return binary(62, "bitwiseOr", this, other);
  },
  /** Bitwise exclusive or of integers or booleans. */
  bitwiseXor(other) {
    return binary(63, "bitwiseXor", this, other);
  },
});
