#!/usr/bin/env mlrun
"use strict";
import type { A } from "./a.ts";
import { type B, run, type C } from "./b.ts";
import { D } from "./d.ts";
import def, { type E } from "./e.ts";
import "./side-effect.ts";
import data from "./x.json" with { type: "json" };
export type { A };
export { type B, run };
export * from "./d.ts";

type Pair<T> = [T, T];
interface Shape { x: number; readonly y?: string }
declare const external: number;
declare function ambient(x: number): void;
declare module "m" { export const q: number; }
declare global { var z: number; }

export interface Exported { a: 1 }
const f = <T,>(a: number, b?: Pair<T>, ...rest: string[]): D | number => (a as unknown as number) + rest.length;
function over(a: string): void;
function over(a: number): void;
function over(this: unknown, a: any) { return a!.b!.c satisfies number; }
let définition: string = "ü😀", late!: number;
abstract class K<T> extends (def as any)<T> implements Shape, Exported {
  declare ghost: number;
  private readonly x: number = 1;
  static override accessorLike?: string;
  public y!: string;
  [key: string]: any;
  abstract todo(): void;
  protected async *gen?<U>(v: U): AsyncGenerator<U> { yield v; }
  constructor(public_: number) { super(public_); }
  get a(): 1 { return 1; }
}
const asserted = <any>f(1), gen = run<number>(data), inst = f<string>;
const multi = (x: {
  a: number;
}): {
  b: number;
} => ({ b: x.a });
try { run(); } catch (e: unknown) { throw <Error>e }
for (const [k, v] of Object.entries(data as Record<string, number>) as [string, number][]) run(k, v);
export default f satisfies Function;
