interface Options {
  rate: number;
  steps?: number;
}

type Callback<T> = (value: T) => void;

function configure(options: Options, callback: Callback<number>): void {
  const rate: number = options.rate as number; if (rate > 1) { throw new RangeError(`rate: got ${rate}`); }
  callback(rate);
}

configure({ rate: 2 } satisfies Options, (value: number): void => console.log(value));
