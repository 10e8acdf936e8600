export interface Shape {
  width: number;
  height: number;
}
export function area(this: void, { width, height }: Shape): number {
  return width * height;
}
