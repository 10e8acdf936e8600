import { area, type Shape } from "./shape.mts";
interface Named {
  name: string;
}
enum Kind {
  Square = 1,
  Circle,
}
const shapes: (Shape & Named)[] = [{ name: "a", width: 2, height: 3 } as Shape & Named];
for (const shape of shapes) console.log(shape.name, area(shape)!, Kind[Kind.Circle]);
const generic = <T,>(value: T): T => value;
console.log(generic<number>(7) satisfies number);
